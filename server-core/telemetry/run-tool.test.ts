import { describe, expect, it } from 'vitest'
import { runTool } from './run-tool.ts'

const sh = (script: string, timeoutMilliseconds = 10_000) => runTool({ command: '/bin/sh', args: ['-c', script], environment: { PATH: process.env['PATH'], WORD: 'given' }, timeoutMilliseconds })

describe('runTool', () => {
  it('gives output and exit code, with the environment given and no other', async () => {
    expect(await sh('echo $WORD$HOME; echo trouble >&2; exit 3')).toEqual({ exitCode: 3, stdout: 'given\n', stderr: 'trouble\n', isTimedOut: false })
    expect(await sh('echo fine')).toMatchObject({ exitCode: 0, stdout: 'fine\n', isTimedOut: false })
  })

  it('ends a tool that takes too long, also when what it started holds the pipes', async () => {
    expect(await sh('echo begun; sleep 5 & sleep 5', 100)).toMatchObject({ exitCode: null, isTimedOut: true })
  })

  it('says that a tool cannot be started', async () => {
    await expect(runTool({ command: '/nowhere/npu-smi', args: [], environment: {}, timeoutMilliseconds: 100 })).rejects.toMatchObject({ code: 'ENOENT' })
  })
})
