import { readFile } from 'node:fs/promises'
import type { BackendInstanceContext, HostPolicy } from '../backends/backend.ts'
import { ServerError } from '../server-error.ts'

/** `--host-policy=<name>,<setting>=<value>`: policy name to settings. */
export type HostPolicies = Readonly<Record<string, HostPolicySettings>>

export interface HostPolicySettings {
  readonly 'numa-node'?: string
  readonly 'cpu-cores'?: string
}

export type HostPolicySetting = keyof HostPolicySettings

/** Where the kernel lists the processors of a memory node. */
const NODE_DIRECTORY = '/sys/devices/system/node'

/** The policy that an instance follows: the one its group names, else that of its kind. */
export function hostPolicyName(group: { readonly host_policy: string }, kind: BackendInstanceContext['kind'], deviceId: number): string {
  if (group.host_policy !== '') return group.host_policy
  if (kind === 'KIND_MODEL') return 'model'
  return kind === 'KIND_GPU' ? `gpu_${deviceId}` : 'cpu'
}

/**
 * What a policy asks for on this machine. `cpu-cores` says the processors; `numa-node` alone means those of the node (memory then comes
 * from there too, since Linux takes it from the node of the thread that first touches it).
 * @throws ServerError INVALID_ARG for a memory node that the machine does not have; UNSUPPORTED where threads cannot be bound
 */
export async function resolveHostPolicy(name: string, policies: HostPolicies, platform: NodeJS.Platform = process.platform, nodeDirectory = NODE_DIRECTORY): Promise<HostPolicy> {
  const settings = Object.hasOwn(policies, name) ? policies[name] : undefined
  const node = settings?.['numa-node']
  const cores = settings?.['cpu-cores']
  if (node === undefined && cores === undefined) return { name, cpuList: null, cpuCount: 0 }
  if (platform !== 'linux') {
    throw new ServerError('UNSUPPORTED', `host policy '${name}' binds threads to processors, which this server can do on Linux only. Start it without --host-policy=${name},...`)
  }
  const ofNode = node === undefined ? null : await processorsOfNode(name, node, nodeDirectory)
  const cpuList = cores ?? ofNode ?? ''
  return { name, cpuList, cpuCount: processorsOf(cpuList).size }
}

async function processorsOfNode(policy: string, node: string, nodeDirectory: string): Promise<string> {
  let text: string
  try {
    text = (await readFile(`${nodeDirectory}/node${node}/cpulist`, 'utf8')).trim()
  } catch (error) {
    throw new ServerError('INVALID_ARG', `host policy '${policy}' names numa-node ${node}, which this machine does not have (${nodeDirectory}/node${node} is not there). `
      + 'Change --host-policy; lscpu lists the nodes', { cause: error })
  }
  if (text === '') throw new ServerError('INVALID_ARG', `host policy '${policy}' names numa-node ${node}, which has memory but no processors. Change --host-policy`)
  return text
}

/** Is it a list of processors such as `0-3,8`? */
export function isCpuList(text: string): boolean {
  return /^\d{1,5}(-\d{1,5})?(,\d{1,5}(-\d{1,5})?)*$/.test(text)
    && text.split(',').every((part) => { const [first, last = first] = part.split('-'); return Number(first) <= Number(last) })
}

/** The processors of a list such as `0-3,8`. */
export function processorsOf(cpuList: string): ReadonlySet<number> {
  const processors = new Set<number>()
  for (const part of cpuList.split(',')) {
    const [first, last] = part.split('-').map(Number)
    for (let processor = first ?? 0; processor <= (last ?? first ?? 0); processor++) processors.add(processor)
  }
  return processors
}
