import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Has V8 collect what nobody holds any more, so that a test can tell what is held. Lets running callbacks end first: what a job looked at lives as long as the job. */
export async function collectGarbage(): Promise<void> {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  for (let round = 0; round < 2; round++) {
    await new Promise((resolve) => { setImmediate(resolve) })
    collect()
  }
}
