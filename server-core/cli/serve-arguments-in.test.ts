import { describe, expect, it } from 'vitest'
import { serveArgumentsIn } from './serve-arguments-in.ts'

describe('serve arguments in a longer command line', () => {
  it('are picked with their values, in both forms', () => {
    expect(serveArgumentsIn(['--no-sandbox', '.', '--http-port=9000', '--load-model', 'ocr', '--lang=en', '/models', '--allow-grpc', '--grpc-port', '0']))
      .toEqual(['--http-port=9000', '--load-model', 'ocr', '--allow-grpc', '--grpc-port', '0'])
  })

  it('keep a flag whose value is missing, so that parsing can say so', () => {
    expect(serveArgumentsIn(['--http-port'])).toEqual(['--http-port'])
    expect(serveArgumentsIn(['--inspect=0', 'http-port'])).toEqual([])
  })
})
