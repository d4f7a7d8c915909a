import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { SERVE_FLAGS } from './flags.ts'
import { HelpRequested, parseServeArguments, serveUsage } from './parse-arguments.ts'

const parse = (...args: string[]) => parseServeArguments(['--model-repository=/models', ...args])

describe('parseServeArguments', () => {
  it('has the defaults of tritonserver, on loopback', () => {
    expect(parse()).toMatchObject({
      id: 'triton', modelControlMode: 'none', httpPort: 8000, grpcPort: 8001, metricsPort: 8002, httpAddress: '127.0.0.1', metricsAddress: '127.0.0.1',
      exitTimeoutSeconds: 30, repositoryPollSeconds: 15, strictReadiness: true, console: false, consolePort: 8600,
    })
  })

  it('takes --flag=value, --flag value and repeated flags', () => {
    const options = parse('--model-store', '/more', '--http-port=0', '--http-address', '0.0.0.0', '--model-control-mode=explicit', '--load-model=a', '--load-model', 'b', '--log-verbose=1')
    expect(options).toMatchObject({ modelRepositories: ['/models', '/more'], httpPort: 0, httpAddress: '0.0.0.0', metricsAddress: '0.0.0.0', loadModels: ['a', 'b'], logVerbose: 1 })
    expect(parse('--http-address=0.0.0.0', '--metrics-address=127.0.0.1').metricsAddress).toBe('127.0.0.1')
  })

  it('takes booleans alone, with a value after the equals sign and with the next word', () => {
    expect(parse('--console', '--allow-http', 'false', '--allow-grpc=0', '--exit-on-error=TRUE')).toMatchObject({ console: true, allowHttp: false, allowGrpc: false, exitOnError: true })
  })

  it('collects backend settings by backend, and those for all', () => {
    expect(parse('--backend-config=onnxruntime,default-max-batch-size=16', '--backend-config=default-max-batch-size=2').backendConfig).toEqual({
      onnxruntime: { 'default-max-batch-size': '16' }, '': { 'default-max-batch-size': '2' },
    })
  })

  it('reads the response cache, setting by setting, and its deprecated size', () => {
    expect(parse('--cache-config=local,size=1048576').cacheConfig).toEqual({ local: { size: '1048576' } })
    expect(parse('--response-cache-byte-size', '4096').responseCacheByteSize).toBe(4096)
    const refused = (...args: string[]) => { try { parse(...args) } catch (error) { return (error as Error).message } return 'taken' }
    expect(refused('--cache-config=local,size=10', '--response-cache-byte-size=10')).toBe('Error: Incompatible flags --response-cache-byte-size and --cache-config both provided. Please provide one or the other.')
    expect(refused('--cache-config=local')).toBe('Bad option: "--cache-config".\n--cache-config expects <cache>,<setting>=<value>, got: local')
    expect(refused('--cache-config=redis,host=h')).toContain("unable to find cache 'redis'")
    expect(refused('--cache-config=local,size=10', '--cache-config=local,ttl=3')).toContain("no setting 'ttl'")
    expect(refused('--cache-config=local,size=many')).toContain('got: many')
    expect(refused('--cache-config=local,size=0')).toContain('got: 0')
  })

  it('reads the rate limiter and the host policies', () => {
    expect(parse('--rate-limit=execution_count', '--rate-limit-resource=R1:10:0', '--rate-limit-resource=R2:5')).toMatchObject({
      rateLimit: 'execution_count', rateLimitResources: [{ name: 'R1', count: 10, device: 0 }, { name: 'R2', count: 5, device: null }],
    })
    expect(parse('--host-policy=cpu,numa-node=0', '--host-policy=cpu,cpu-cores=0-3,8', '--host-policy=mine,cpu-cores=1').hostPolicies).toEqual({
      cpu: { 'numa-node': '0', 'cpu-cores': '0-3,8' }, mine: { 'cpu-cores': '1' },
    })
  })

  it('reads restricted APIs', () => {
    expect(parse('--http-restricted-api=model-repository,health:x-key=secret').httpRestrictedApis).toEqual([{ categories: ['model-repository', 'health'], header: 'x-key', value: 'secret' }])
  })

  it.each<[string, string[], string]>([
    ['unknown flag', ['--http-prot=1'], "unrecognized option '--http-prot'"],
    ['loose word', ['models'], "unexpected argument 'models'"],
    ['missing value', ['--http-port'], "option '--http-port' requires an argument"],
    ['empty address, which would be every address', ['--http-address='], "option '--http-address' has an empty value. Give it one, or leave the flag out"],
    ['empty repository, which would be the working directory', ['--model-repository', ''], "option '--model-repository' has an empty value. Give it one, or leave the flag out"],
    ['empty boolean', ['--console='], "option '--console' has an empty value. Give it one, or leave the flag out"],
    ['no boolean', ['--allow-http=yes'], 'Bad option: "--allow-http".\ninvalid value for bool option: yes'],
    ['no port', ['--http-port=70000'], 'Bad option: "--http-port".\nexpected a whole number between 0 and 65535, got: 70000'],
    ['no number', ['--repository-poll-secs=soon'], 'Bad option: "--repository-poll-secs".\nexpected a whole number between 0 and 9007199254740991, got: soon'],
    ['polling without a pause', ['--model-control-mode=poll', '--repository-poll-secs=0'], 'Error: --repository-poll-secs must be above 0 with --model-control-mode=poll, got 0: '
      + 'the server would read the disk without a pause. --model-control-mode=none loads what there is at start and never looks again'],
    ['an interval beyond any timer', ['--metrics-interval-ms=2147483648'], 'Bad option: "--metrics-interval-ms".\nexpected a whole number between 0 and 2147483647, got: 2147483648'],
    ['no control mode', ['--model-control-mode=manual'], 'Bad option: "--model-control-mode".\ninvalid argument for --model-control-mode: expected none, poll or explicit, got: manual'],
    ['load without explicit mode', ['--load-model=a'], "Error: Use of '--load-model' requires setting '--model-control-mode=explicit' as well."],
    ['wildcard with others', ['--model-control-mode=explicit', '--load-model=*', '--load-model=a'], "Error: Wildcard model name '*' must be the ONLY startup model if specified at all."],
    ['no rate limit', ['--rate-limit=on'], 'Bad option: "--rate-limit".\ninvalid argument for --rate-limit: expected off or execution_count, got: on'],
    ['resource without a count', ['--rate-limit-resource=R1'], 'Bad option: "--rate-limit-resource".\n--rate-limit-resource option format is \'<resource_name>:<count>:<device>\' or \'<resource_name>:<count>\'. Got R1'],
    ['resource of a named device', ['--rate-limit-resource=R1:2:gpu'], 'Bad option: "--rate-limit-resource".\n--rate-limit-resource option format is \'<resource_name>:<count>:<device>\' or \'<resource_name>:<count>\'. Got R1:2:gpu'],
    ['host policy without a setting', ['--host-policy=cpu'], 'Bad option: "--host-policy".\n--host-policy option format is \'<policy name>,<setting>=<value>\'. Got cpu'],
    ['unknown setting of a host policy', ['--host-policy=cpu,memory=1'], 'Bad option: "--host-policy".\n--host-policy knows the settings numa-node and cpu-cores, got: memory'],
    ['processors in the wrong order', ['--host-policy=cpu,cpu-cores=3-1'], 'Bad option: "--host-policy".\n--host-policy cpu-cores expects processor numbers such as 0-3 or 0-3,8, got: 3-1'],
    ['a name for a node', ['--host-policy=cpu,numa-node=first'], 'Bad option: "--host-policy".\n--host-policy numa-node expects a node number, got: first'],
    ['broken backend setting', ['--backend-config=onnxruntime'], 'Bad option: "--backend-config".\n--backend-config expects <backend>,<key>=<value> or <key>=<value>, got: onnxruntime'],
  ])('refuses: %s', (_name, args, message) => {
    expect(() => parse(...args)).toThrow(expect.objectContaining({ kind: 'INVALID_ARG', message }) as Error)
  })

  it('wants a repository, except where the console can open one', () => {
    expect(() => parseServeArguments([])).toThrow('--model-repository must be specified')
    expect(parseServeArguments(['--console', '--model-control-mode=explicit']).modelRepositories).toEqual([])
    expect(parseServeArguments(['--console'])).toMatchObject({ modelRepositories: [], modelControlMode: 'explicit' })
    expect(parse('--console').modelControlMode).toBe('none')
    expect(() => parseServeArguments(['--console', '--model-control-mode=poll'])).toThrow('--model-repository must be specified')
  })

  it('has every flag in docs/configuration.md', () => {
    const page = readFileSync(new URL('../../docs/configuration.md', import.meta.url), 'utf8')
    expect(SERVE_FLAGS.flatMap((flag) => flag.names).filter((name) => !page.includes(`\`${name}\``))).toEqual([])
  })

  it('names every flag in the usage', () => {
    expect(() => parseServeArguments(['--help'])).toThrow(HelpRequested)
    expect(serveUsage()).toContain('--model-repository <directory>, --model-store <directory>')
  })
})
