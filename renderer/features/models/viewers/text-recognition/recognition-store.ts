/** The picture chosen for each recogniser, and its character list: kept while the window is open. */
import { create } from 'zustand'
import type { Picture } from '../../../../../server-core/tensors/image-tensor.ts'

export interface ChosenPicture {
  /** File name, or the path of the sample. */
  readonly name: string
  readonly picture: Picture
}

export interface RecognitionState {
  readonly chosen: ChosenPicture
  readonly characters: readonly string[]
  /** A file that could not be used; the picture chosen before stays. */
  readonly problem: { readonly name: string; readonly error: unknown } | null
}

interface RecognitionStore {
  readonly models: Readonly<Record<string, Partial<RecognitionState>>>
  change(model: string, change: Partial<RecognitionState>): void
}

export const useRecognition = create<RecognitionStore>()((set) => ({
  models: {},
  change: (model, change) => set((state) => ({ models: { ...state.models, [model]: { ...state.models[model], ...change } } })),
}))
