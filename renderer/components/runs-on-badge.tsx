/** Where a model runs: a quiet badge; an em dash while unknown. */
import { UNKNOWN } from '../lib/format.ts'

export function RunsOnBadge({ runsOn }: { readonly runsOn: string | null }) {
  if (runsOn === null || runsOn === '') return <span className="npu-quiet">{UNKNOWN}</span>
  return <span className={`npu-badge${runsOn.startsWith('NPU') ? ' npu-badge-npu' : ''}`}>{runsOn}</span>
}
