import { describe, expect, it } from 'vitest'
import { groupedFlags, OTHER_FLAGS } from './flag-groups.ts'
import { SERVE_FLAGS } from './flags.ts'
import { parseServeArguments, serveUsage } from './parse-arguments.ts'

/** The flags of tritonserver that mean something for a server like this one. */
const TRITON_FLAGS = [
  '--id', '--model-repository', '--model-store', '--exit-on-error', '--disable-auto-complete-config', '--strict-model-config', '--strict-readiness', '--exit-timeout-secs', '--model-control-mode',
  '--repository-poll-secs', '--load-model', '--model-config-name', '--model-load-thread-count', '--model-load-retry-count', '--model-namespacing',
  '--allow-http', '--allow-grpc', '--allow-metrics', '--http-port', '--grpc-port', '--metrics-port', '--http-address', '--grpc-address', '--metrics-address', '--reuse-http-port', '--reuse-grpc-port',
  '--http-thread-count', '--http-max-input-size', '--http-header-forward-pattern', '--grpc-header-forward-pattern', '--http-restricted-api', '--grpc-restricted-protocol',
  '--grpc-keepalive-time', '--grpc-keepalive-timeout', '--grpc-keepalive-permit-without-calls', '--grpc-http2-max-pings-without-data', '--grpc-http2-min-recv-ping-interval-without-data',
  '--grpc-http2-max-ping-strikes', '--grpc-max-connection-age', '--grpc-max-connection-age-grace', '--grpc-infer-thread-count', '--grpc-infer-allocation-pool-size',
  '--grpc-infer-response-compression-level', '--grpc-use-ssl', '--grpc-use-ssl-mutual', '--grpc-server-cert', '--grpc-server-key', '--grpc-root-cert',
  '--log-verbose', '--log-info', '--log-warning', '--log-error', '--log-format', '--log-file', '--metrics-interval-ms', '--metrics-config', '--allow-cpu-metrics', '--allow-gpu-metrics',
  '--trace-config', '--cache-config', '--cache-directory', '--rate-limit', '--rate-limit-resource', '--backend-directory', '--backend-config', '--host-policy', '--pinned-memory-pool-byte-size',
  '--repoagent-directory', '--allow-client-shm',
]

/** Left out on purpose, with the reason. */
const REASONED_AWAY: Readonly<Record<string, string>> = {}

const parse = (...args: string[]) => parseServeArguments(['--model-repository=/models', ...args])

describe('flags of tritonserver', () => {
  it('are there, or left out for a reason', () => {
    const names = new Set(SERVE_FLAGS.flatMap((flag) => flag.names))
    expect(TRITON_FLAGS.filter((name) => !names.has(name) && REASONED_AWAY[name] === undefined)).toEqual([])
    expect(Object.keys(REASONED_AWAY).filter((name) => names.has(name))).toEqual([])
  })

  it('all stand under a heading of the usage', () => {
    expect(groupedFlags(SERVE_FLAGS).find(({ title }) => title === OTHER_FLAGS)).toBeUndefined()
    expect(serveUsage()).toMatch(/\nHTTP:\n {2}--allow-http\n/)
  })

  it('without effect are said once each, and checked all the same', () => {
    expect(parse('--http-thread-count=8', '--http-thread-count', '16', '--cache-directory=/x').flagsWithoutEffect).toEqual([
      '--http-thread-count has no effect: one thread serves HTTP, and models compute on threads of their own', '--cache-directory has no effect: the response cache is part of the server',
    ])
    expect(() => parse('--pinned-memory-pool-byte-size=much')).toThrow('Bad option: "--pinned-memory-pool-byte-size".')
  })

  it('choose configs by name, and refuse paths and namespaces', () => {
    expect(parse('--model-config-name=edge').modelConfigName).toBe('edge')
    expect(() => parse('--model-config-name=../x')).toThrow('Bad option: "--model-config-name".')
    expect(parse('--model-namespacing=false').modelConfigName).toBe('')
    expect(() => parse('--model-namespacing')).toThrow('this server has no model namespaces')
  })

  it('of logs and traces', () => {
    expect(parse('--log-verbose=true', '--log-info=0', '--log-format=ISO8601', '--log-file=/tmp/log', '--trace-config=rate=3')).toMatchObject({
      logVerbose: 1, logInfo: false, logFormat: 'ISO8601', logFile: '/tmp/log', traceConfig: { rate: 3 },
    })
    expect(() => parse('--log-format=xml')).toThrow('invalid argument for --log-format: expected default or ISO8601, got: xml')
    expect(() => parse('--trace-config=mode=opentelemetry')).toThrow(/^Bad option: "--trace-config"/)
    expect(() => parse('--metrics-config=summary_latencies=maybe')).toThrow('invalid value for bool option: maybe')
  })
})
