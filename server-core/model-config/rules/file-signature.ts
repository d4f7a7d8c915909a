/** What the context says about the model file, in the form that the checks compare. Pure. */
import type { ConfigContext, FileSignature, FileTensor } from '../../contract/config-language.ts'
import type { SignatureTensor, TensorSignature } from '../signature-problems.ts'

export function toSignature({ inputs, outputs }: FileSignature): TensorSignature {
  return { inputs: inputs.map(toSignatureTensor), outputs: outputs.map(toSignatureTensor) }
}

function toSignatureTensor(tensor: FileTensor): SignatureTensor {
  return {
    name: tensor.name, datatype: tensor.datatype, elementType: tensor.elementType ?? tensor.datatype ?? 'UNDEFINED', dims: tensor.shape,
    hasShape: tensor.hasUnknownRank !== true,
  }
}

/** Of the highest version whose file can be read; null: none is known. */
export function knownSignature(context: ConfigContext): TensorSignature | null {
  const found = context.versions.filter(({ signature }) => signature !== null).toSorted((a, b) => b.version - a.version)[0]
  return found === undefined || found.signature === null ? null : toSignature(found.signature)
}
