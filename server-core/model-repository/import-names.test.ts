import { describe, expect, test } from 'vitest'
import { checkModelName, proposeModelName } from './import-names.ts'

describe('proposeModelName', () => {
  test.each([
    ['resnet50.onnx', 'resnet50'], ['ResNet-50 v1.5.onnx', 'ResNet-50_v1.5'], ['/a/b/net.onnx', 'net'], ['C:\\x\\net.onnx', 'net'], ['../../etc/passwd.onnx', 'passwd'],
    ['文字识别.onnx', '文字识别'], ['e\u0301te\u0301.onnx', 'été'], ['..onnx', 'model'], ['???.onnx', 'model'], ['', 'model'], ['.hidden.onnx', 'hidden'], ['con.onnx', 'model_con'],
    ['a\u0000b\nc.onnx', 'a_b_c'], ['👍.onnx', 'model'], ['trailing. .onnx', 'trailing'],
  ])('%j becomes %j', (fileName, name) => {
    expect(proposeModelName(fileName, [])).toBe(name)
    expect(() => { checkModelName(name) }).not.toThrow()
  })

  test('a taken name gets a number, whatever its case', () => {
    expect(proposeModelName('net.onnx', ['net'])).toBe('net_2')
    expect(proposeModelName('Net.onnx', ['net', 'NET_2'])).toBe('Net_3')
  })

  test.each([['a'.repeat(300)], ['识'.repeat(300)], ['😀a'.repeat(150)]])('a long name is cut to what a file system takes', (stem) => {
    const name = proposeModelName(`${stem}.onnx`, [])
    expect(Buffer.byteLength(name)).toBeLessThanOrEqual(200)
    expect(name.isWellFormed()).toBe(true)
    expect(() => { checkModelName(proposeModelName(`${stem}.onnx`, [name])) }).not.toThrow()
  })
})

describe('checkModelName', () => {
  test.each(['', '.', '..', '.hidden', 'a/b', 'a\\b', '../x', '/abs', 'a\u0000', 'a\nb', ' a', 'a ', 'a.', 'x'.repeat(300), '识'.repeat(100)])('refuses %j', (name) => {
    expect(() => { checkModelName(name) }).toThrow(expect.objectContaining({ kind: 'INVALID_ARG' }) as Error)
  })

  test.each(['a', 'net.v2', 'net_2', 'x y', '文字'])('accepts %j', (name) => {
    expect(() => { checkModelName(name) }).not.toThrow()
  })
})
