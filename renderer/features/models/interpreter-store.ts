/** Which Python a model runs with, chosen in the window: one parameter of its config.pbtxt, written so that nothing else of the file changes. */
import { PYTHON_INTERPRETER_PARAMETER } from '../../../server-core/contract/python-interpreters.ts'
import { applyEdits, removeMapEntry, setMapEntry } from '../../../server-core/model-config/config-edit.ts'
import { parsePbtxt } from '../../../server-core/model-config/pbtxt-parser.ts'
import { command } from '../../console-client.ts'

/** The config with this interpreter; null: with none, so that the engine's own choice holds. */
export function withInterpreter(text: string, path: string | null): string {
  const { tree } = parsePbtxt(text)
  return applyEdits(text, path === null ? removeMapEntry(tree, ['parameters'], PYTHON_INTERPRETER_PARAMETER) : setMapEntry(tree, ['parameters'], PYTHON_INTERPRETER_PARAMETER, { string_value: path }))
}

export type InterpreterOutcome =
  /** `isLoaded` false: the engine loads the model by itself, or at its next start. */
  | { readonly kind: 'done'; readonly isLoaded: boolean }
  /** The model does not load with it: the file is as it was, and what served goes on. */
  | { readonly kind: 'takenBack'; readonly error: unknown }
  /** It does not load with it either way back: the file has changed meanwhile and keeps the choice. */
  | { readonly kind: 'kept'; readonly error: unknown }
  /** Another program wrote the file meanwhile; nothing was changed. */
  | { readonly kind: 'conflict' }
  | { readonly kind: 'failed'; readonly error: unknown }

/** Writes the choice and loads the model with it; where that fails the file becomes what it was. A failed load leaves what serves as it is. */
export async function chooseInterpreter(model: string, path: string | null, canLoad: boolean): Promise<InterpreterOutcome> {
  try {
    const { text: before, hash } = await command('config.open', { name: model })
    const saved = await command('config.save', { name: model, text: withInterpreter(before ?? '', path), baseHash: hash })
    if (saved.kind === 'conflict') return { kind: 'conflict' }
    if (!canLoad) return { kind: 'done', isLoaded: false }
    try {
      await command('model.load', { name: model })
      return { kind: 'done', isLoaded: true }
    } catch (error) {
      const restored = await command('config.save', { name: model, text: before, baseHash: saved.hash })
      return { kind: restored.kind === 'saved' ? 'takenBack' : 'kept', error }
    }
  } catch (error) {
    return { kind: 'failed', error }
  }
}
