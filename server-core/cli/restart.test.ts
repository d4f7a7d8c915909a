import { describe, expect, it } from 'vitest'
import type { ServerRestart } from '../contract/console-api.ts'
import { FakeWorkstation } from '../testing/fake-workstation.ts'
import { parseServeArguments } from './parse-arguments.ts'
import { prepareRestart, restartArguments, type RunningState } from './restart.ts'

const at = (port: number) => ({ address: '127.0.0.1', port })
const RUNNING: RunningState = {
  status: { http: at(41), grpc: at(42), metrics: null, console: at(44), controlMode: 'explicit', repositoryPaths: ['/opened/later'] }, readyModels: ['a', 'b'],
}

describe('restartArguments', () => {
  it('keeps the flags, and goes on with what is open, loaded and listened on now', () => {
    const args = ['--model-repository', '/first', '--console', '--console-port=0', '--http-port', '0', '--id', 'mine', '--log-verbose=1', '--load-model=gone']
    const next = restartArguments(args, { npuSource: 'simulated', simulatedCards: ['310P3-duo', '910B3'] }, RUNNING)
    expect(next).toEqual([
      '--console=true', '--id=mine', '--log-verbose=1', '--model-repository=/opened/later', '--model-control-mode=explicit', '--load-model=a', '--load-model=b', '--exit-on-error=false',
      '--http-port=41', '--grpc-port=42', '--console-port=44', '--npu=simulated', '--npu-simulated-cards=310P3-duo,910B3',
    ])
    expect(parseServeArguments(next)).toMatchObject({ npu: 'simulated', id: 'mine', httpPort: 41, loadModels: ['a', 'b'] })
    // Again, the other way.
    expect(parseServeArguments(restartArguments([...next, '--npu-simulated-time-scale=7', '--npu-fallback=fail'], { npuFallback: 'allow', simulatedTimeScale: 0 }, RUNNING))).toMatchObject({ npu: 'simulated', npuFallback: 'allow', npuSimulatedTimeScale: 0 })
    expect(parseServeArguments(restartArguments(next, { npuSource: 'off' }, RUNNING))).toMatchObject({ npu: 'off', npuSimulatedCards: ['310P3-duo', '910B3'], id: 'mine' })
  })

  it('loads by itself what the other modes load', () => {
    const next = restartArguments(['--model-repository=/first'], {}, { status: { ...RUNNING.status, controlMode: 'poll' }, readyModels: ['a'] })
    expect(parseServeArguments(next)).toMatchObject({ modelControlMode: 'poll', loadModels: [], npu: 'auto' })
  })
})

describe('prepareRestart', () => {
  it('runs the set_env.sh that is asked for, and says what it cannot take back', async () => {
    using station = new FakeWorkstation().complete()
    const prepare = (change: ServerRestart, environment: NodeJS.ProcessEnv) => prepareRestart(['--model-repository=/first'], change, RUNNING, station.machine({ environment }))
    const { args, environment } = await prepare({ cannSetEnv: '/usr/local/Ascend/cann/set_env.sh' }, { PATH: '/usr/bin:/bin' })
    expect(args).toContain('--cann-set-env=/usr/local/Ascend/cann/set_env.sh')
    expect(environment).toMatchObject({ ASCEND_HOME_PATH: expect.stringContaining('cann') as string, NPU_CONSOLE_CANN_SET_ENV: '/usr/local/Ascend/cann/set_env.sh' })
    await expect(prepare({ cannSetEnv: '/nowhere/set_env.sh' }, {})).rejects.toMatchObject({ kind: 'NOT_FOUND' })
    await expect(prepare({ cannSetEnv: 'none' }, { NPU_CONSOLE_CANN_SET_ENV: '/opt/set_env.sh' })).rejects.toMatchObject({ kind: 'INVALID_ARG', message: expect.stringContaining('/opt/set_env.sh') as string })
    expect((await prepare({ cannSetEnv: 'none' }, { A: '1' })).environment).toEqual({ A: '1' })
  })

  it('refuses cards that cannot be simulated, before anything stops', async () => {
    using station = new FakeWorkstation()
    await expect(prepareRestart(['--model-repository=/first'], { npuSource: 'simulated', simulatedCards: ['42'] }, RUNNING, station.machine())).rejects.toMatchObject({ kind: 'INVALID_ARG', message: expect.stringContaining("'42'") as string })
  })
})
