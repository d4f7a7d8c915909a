import type { BackendInstanceContext, HostPolicy } from '../backends/backend.ts'
import type { ModelInstanceGroup } from '../contract/model-config.ts'
import type { RateLimitDemand } from '../scheduling/rate-limiter.ts'
import { hostPolicyName, resolveHostPolicy, type HostPolicies } from './host-policy.ts'

/** One instance that a config asks for. */
export interface WantedInstance {
  readonly name: string
  readonly kind: BackendInstanceContext['kind']
  readonly deviceId: number
  readonly isPassive: boolean
  readonly hostPolicyName: string
  readonly profiles: readonly string[]
  readonly secondaryDevices: ModelInstanceGroup['secondary_devices']
  readonly demand: RateLimitDemand
  /** Of the group without name and count: instances with equal ones can stand in for each other. */
  readonly signature: string
}

/** The instances of normalised groups in their order; with several gpus each index exists once a gpu, under the same name. */
export function expandGroups(groups: readonly ModelInstanceGroup[]): WantedInstance[] {
  return groups.flatMap(({ name, count, ...group }) => {
    const kind: WantedInstance['kind'] = group.kind === 'KIND_MODEL' || group.kind === 'KIND_GPU' ? group.kind : 'KIND_CPU'
    const devices = kind === 'KIND_GPU' ? group.gpus : [0]
    return Array.from({ length: count }, (_unused, index) => devices.map((deviceId) => ({
      name: `${name}_${index}`, kind, deviceId, isPassive: group.passive, hostPolicyName: hostPolicyName(group, kind, deviceId),
      profiles: group.profile, secondaryDevices: group.secondary_devices,
      demand: { resources: group.rate_limiter?.resources ?? [], priority: group.rate_limiter?.priority ?? 0, device: deviceId },
      signature: JSON.stringify({ ...group, gpus: [deviceId] }),
    }))).flat()
  })
}

/** The policy of each instance on this machine. @throws ServerError where one cannot be followed */
export async function resolveHostPolicies(wanted: readonly WantedInstance[], policies: HostPolicies): Promise<ReadonlyMap<string, HostPolicy>> {
  const resolved = new Map<string, HostPolicy>()
  for (const { hostPolicyName: name } of wanted) if (!resolved.has(name)) resolved.set(name, await resolveHostPolicy(name, policies))
  return resolved
}

/** Triton's switch for tests and slow backends: instances of a model are made at the same time, whatever the backend says. */
export function isParallelLoadingAsked(environment: Readonly<Record<string, string | undefined>> = process.env): boolean {
  return environment['TRITON_PARALLEL_INSTANCE_LOADING'] === '1'
}
