import { describe, expect, it } from 'vitest'
import { DEFAULT_GRPC_TRANSPORT_OPTIONS } from '../frontends/grpc/grpc-options.ts'
import { parseServeArguments } from './parse-arguments.ts'

const parse = (...args: string[]) => parseServeArguments(['--model-repository=/models', ...args])

describe('flags of the gRPC transport', () => {
  it('has the defaults of tritonserver', () => {
    expect(parse().grpcTransport).toEqual(DEFAULT_GRPC_TRANSPORT_OPTIONS)
    expect(DEFAULT_GRPC_TRANSPORT_OPTIONS.connection).toEqual({
      keepaliveTime: 7_200_000, keepaliveTimeout: 20_000, keepalivePermitWithoutCalls: false, maxPingsWithoutData: 2, minReceivedPingInterval: 300_000, maxPingStrikes: 2, maxAge: 0, maxAgeGrace: 0,
    })
  })

  it('reads all of them', () => {
    const { grpcTransport } = parse(
      '--grpc-keepalive-time=1', '--grpc-keepalive-timeout', '2', '--grpc-keepalive-permit-without-calls', '--grpc-http2-max-pings-without-data=3',
      '--grpc-http2-min-recv-ping-interval-without-data=4', '--grpc-http2-max-ping-strikes=5', '--grpc-max-connection-age=6', '--grpc-max-connection-age-grace=7',
      '--grpc-use-ssl=true', '--grpc-use-ssl-mutual=1', '--grpc-server-cert=/c', '--grpc-server-key=/k', '--grpc-root-cert=/r', '--grpc-infer-response-compression-level=medium', '--grpc-header-forward-pattern=^x-.*',
    )
    expect(grpcTransport).toEqual({
      connection: { keepaliveTime: 1, keepaliveTimeout: 2, keepalivePermitWithoutCalls: true, maxPingsWithoutData: 3, minReceivedPingInterval: 4, maxPingStrikes: 5, maxAge: 6, maxAgeGrace: 7 },
      useSsl: true, useSslMutual: true, serverCert: '/c', serverKey: '/k', rootCert: '/r', responseCompression: 'medium', headerForwardPattern: '^x-.*',
    })
  })

  it('keeps those that mean nothing here for the log', () => {
    expect(parse('--grpc-infer-thread-count=4', '--grpc-infer-allocation-pool-size=8').flagsWithoutEffect.map((said) => said.split(' has no effect')[0])).toEqual(['--grpc-infer-thread-count', '--grpc-infer-allocation-pool-size'])
  })

  it.each([['--grpc-keepalive-time=soon'], ['--grpc-use-ssl=yes'], ['--grpc-infer-response-compression-level=best'], ['--grpc-infer-thread-count=-1']])('refuses %s', (argument) => {
    expect(() => parse(argument)).toThrow(`Bad option: "${argument.split('=')[0]}".`)
  })

  it('refuses a pattern that is none', () => { expect(() => parse('--grpc-header-forward-pattern=(')).toThrow(/--grpc-header-forward-pattern: '\(' is no regular expression/) })
})
