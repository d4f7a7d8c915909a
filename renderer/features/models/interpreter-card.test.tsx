import { beforeEach, describe, expect, it, vi } from 'vitest'
import { consoleClient, ConsoleError } from '../../console-client.ts'
import { chooseInterpreter, withInterpreter } from './interpreter-store.ts'

const CONFIG = '# mine\nbackend: "python"  # keep\n'

describe('the interpreter of a model', () => {
  const command = vi.spyOn(consoleClient, 'command')
  /** The file on disk, as the commands see it. */
  let file = { text: CONFIG as string | null, hash: 'a' }
  let saves: (string | null)[] = []
  const answering = (load: () => Promise<void>) => {
    command.mockImplementation((async (name: string, args?: { text?: string | null; baseHash?: string | null }) => {
      if (name === 'config.open') return file
      if (name === 'model.load') return load()
      if (args?.baseHash !== file.hash) return { kind: 'conflict', currentText: file.text, currentHash: file.hash }
      file = { text: args.text ?? null, hash: `${file.hash}+` }
      saves.push(file.text)
      return { kind: 'saved', hash: file.hash }
    }) as unknown as typeof consoleClient.command)
  }

  beforeEach(() => {
    file = { text: CONFIG, hash: 'a' }
    saves = []
  })

  it('is one parameter, and all else of the file stays', () => {
    const chosen = withInterpreter(CONFIG, '/opt/env')
    expect(chosen.startsWith(CONFIG)).toBe(true)
    expect(chosen).toMatch(/key: "PYTHON_INTERPRETER"[^]*string_value: "\/opt\/env"/)
    expect(withInterpreter(chosen, '/other')).toBe(chosen.replace('/opt/env', '/other'))
    expect(withInterpreter(chosen, null)).not.toContain('PYTHON_INTERPRETER')
    expect(withInterpreter('', '/opt/env')).toContain('/opt/env')
  })

  it('is saved and loaded; without load and unload it is saved', async () => {
    answering(async () => {})
    expect(await chooseInterpreter('m', '/opt/env', true)).toEqual({ kind: 'done', isLoaded: true })
    expect(await chooseInterpreter('m', null, false)).toEqual({ kind: 'done', isLoaded: false })
    expect(saves).toHaveLength(2)
  })

  it('is taken back where the model does not load with it', async () => {
    const error = new ConsoleError('INVALID_ARG', 'No module named x')
    answering(() => Promise.reject(error))
    expect(await chooseInterpreter('m', '/opt/env', true)).toEqual({ kind: 'takenBack', error })
    expect(file.text).toBe(CONFIG)
  })

  it('is not written over what another program wrote', async () => {
    answering(() => {
      file = { text: 'theirs', hash: 'b' }
      return Promise.reject(new ConsoleError('INVALID_ARG', 'no'))
    })
    expect(await chooseInterpreter('m', '/opt/env', true)).toMatchObject({ kind: 'kept' })
    expect(file.text).toBe('theirs')
  })
})
