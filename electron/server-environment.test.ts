import { describe, expect, it, vi } from 'vitest'
import { FakeWorkstation } from '../server-core/testing/fake-workstation.ts'
import { serverEnvironment } from './server-environment.ts'

const ENVIRONMENT = { PATH: '/usr/bin:/bin' }

describe('serverEnvironment', () => {
  it('adds what set_env.sh sets where the command line says so, in either spelling', async () => {
    using station = new FakeWorkstation().complete()
    const machine = station.machine({ environment: ENVIRONMENT })
    for (const flag of [['--cann-set-env=auto'], ['--cann-set-env', '/usr/local/Ascend/cann/set_env.sh']]) {
      expect(await serverEnvironment(['electron', '.', ...flag, '--lang=en'], machine)).toMatchObject({ PATH: '/usr/bin:/bin', ASCEND_HOME_PATH: '/usr/local/Ascend/cann' })
    }
  })

  it('obeys the last of several flags', async () => {
    using station = new FakeWorkstation().complete()
    const machine = station.machine({ environment: ENVIRONMENT })
    expect(await serverEnvironment(['electron', '--cann-set-env=/nowhere', '--cann-set-env=auto'], machine)).toMatchObject({ ASCEND_HOME_PATH: '/usr/local/Ascend/cann' })
    expect(await serverEnvironment(['electron', '--cann-set-env=auto', '--cann-set-env=none'], machine)).toBe(ENVIRONMENT)
  })

  it('is as it was without the flag, and where the file is missing', async () => {
    using station = new FakeWorkstation()
    const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
    const machine = station.machine({ environment: ENVIRONMENT })
    expect(await serverEnvironment(['electron', '.'], machine)).toBe(ENVIRONMENT)
    expect(written).not.toHaveBeenCalled()
    expect(await serverEnvironment(['electron', '--cann-set-env=/x/set_env.sh'], machine)).toBe(ENVIRONMENT)
    expect(written).toHaveBeenCalledWith(expect.stringContaining("'/x/set_env.sh' is not there"))
    written.mockRestore()
  })
})
