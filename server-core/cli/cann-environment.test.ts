import { describe, expect, it } from 'vitest'
import { FakeWorkstation } from '../testing/fake-workstation.ts'
import { APPLIED_VARIABLE, environmentWithCann } from './cann-environment.ts'

const ENVIRONMENT = { PATH: '/usr/bin:/bin', MINE: 'stays' }
const FILE = '/usr/local/Ascend/cann/set_env.sh'

describe('environmentWithCann', () => {
  it('adds what set_env.sh sets, keeps the rest, and says which file it was', async () => {
    using station = new FakeWorkstation().complete()
    for (const setting of ['auto', FILE]) {
      expect(await environmentWithCann(setting, station.machine({ environment: ENVIRONMENT }))).toMatchObject({
        ...ENVIRONMENT, ASCEND_HOME_PATH: '/usr/local/Ascend/cann', ASCEND_OPP_PATH: '/usr/local/Ascend/cann/opp',
        LD_LIBRARY_PATH: '/usr/local/Ascend/cann/lib64:/usr/local/Ascend/cann/lib64/plugin/opskernel:', [APPLIED_VARIABLE]: FILE,
      })
    }
  })

  it('does nothing without the flag, nor a second time', async () => {
    using station = new FakeWorkstation().complete()
    expect(await environmentWithCann('', station.machine({ environment: ENVIRONMENT }))).toBeNull()
    const again = await environmentWithCann('auto', station.machine({ environment: ENVIRONMENT })) ?? {}
    expect(await environmentWithCann('auto', station.machine({ environment: again }))).toBeNull()
  })

  it('refuses a file that is not there or fails', async () => {
    using station = new FakeWorkstation()
    const machine = station.machine({ environment: ENVIRONMENT })
    await expect(environmentWithCann('auto', machine)).rejects.toThrow('--cann-set-env=auto: no CANN with a set_env.sh was found')
    await expect(environmentWithCann('/x/set_env.sh', machine)).rejects.toThrow("--cann-set-env: '/x/set_env.sh' is not there")
    station.write('/x/set_env.sh', 'return 7\n')
    await expect(environmentWithCann('/x/set_env.sh', machine)).rejects.toThrow("--cann-set-env: '/x/set_env.sh' failed: it ended with code 7")
  })
})
