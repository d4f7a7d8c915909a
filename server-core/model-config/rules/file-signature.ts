/** What the context says about the model files that a config would load, in the form that the checks compare. Pure. */
import type { ConfigContext, ConfigContextVersion, FileSignature, FileTensor } from '../../contract/config-language.ts'
import type { ModelConfig } from '../../contract/model-config.ts'
import { chooseVersions } from '../../model-repository/version-policy.ts'
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

type Policy = Pick<ModelConfig, 'version_policy' | 'default_model_filename'>

/** The versions that the config's policy loads, the highest first. */
export function chosenVersions(config: Policy, context: ConfigContext): readonly ConfigContextVersion[] {
  const { chosen } = chooseVersions(context.versions.map(({ version }) => version), config.version_policy)
  const isChosen = new Set(chosen)
  return context.versions.filter(({ version }) => isChosen.has(version)).toSorted((a, b) => b.version - a.version)
}

/** Of the files of those versions, each kind once. Another file of a version than the one the config names says nothing. */
export function fileSignatures(config: Policy, context: ConfigContext): readonly TensorSignature[] {
  const distinct = new Map<string, FileSignature>()
  for (const { signature, signatureFile, files } of chosenVersions(config, context)) {
    const isOther = signatureFile !== undefined && config.default_model_filename !== '' && config.default_model_filename !== signatureFile
      && files.includes(config.default_model_filename)
    if (signature !== null && !isOther) distinct.set(JSON.stringify(signature), signature)
  }
  return [...distinct.values()].map(toSignature)
}
