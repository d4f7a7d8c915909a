/**
 * Which endpoint a path names (protocol section 4). Matching is by raw segments: no percent-decoding, trailing or doubled slashes and
 * other letter case match nothing, versions are digits.
 */

export type RouteKind =
  | 'serverLive' | 'serverReady' | 'serverMetadata' | 'modelMetadata' | 'modelReady' | 'modelConfig' | 'modelStatistics' | 'infer'
  | 'generate' | 'generateStream' | 'repositoryIndex' | 'modelLoad' | 'modelUnload' | 'modelTraffic' | 'npuFaults' | 'trace' | 'logging'
  | 'systemSharedMemoryStatus' | 'systemSharedMemoryRegister' | 'systemSharedMemoryUnregister'
  | 'cudaSharedMemoryStatus' | 'cudaSharedMemoryRegister' | 'cudaSharedMemoryUnregister'

export interface Route {
  readonly kind: RouteKind
  /** '' where the path names none. */
  readonly model: string
  /** Digits as written; '' where the path names none. */
  readonly version: string
  /** Repository or shared memory region; '' where the path names none. */
  readonly qualifier: string
}

const MODEL_ACTIONS: ReadonlyMap<string, RouteKind> = new Map<string, RouteKind>([
  ['infer', 'infer'], ['generate', 'generate'], ['generate_stream', 'generateStream'], ['ready', 'modelReady'], ['config', 'modelConfig'],
  ['stats', 'modelStatistics'],
])

/** Ours, outside Triton's paths. */
const OWN_MODEL_ACTIONS: ReadonlyMap<string, RouteKind> = new Map<string, RouteKind>([['traffic', 'modelTraffic']])

const REGION_ACTIONS: Readonly<Record<'system' | 'cuda', ReadonlyMap<string, RouteKind>>> = {
  system: new Map<string, RouteKind>([
    ['status', 'systemSharedMemoryStatus'], ['register', 'systemSharedMemoryRegister'], ['unregister', 'systemSharedMemoryUnregister'],
  ]),
  cuda: new Map<string, RouteKind>([
    ['status', 'cudaSharedMemoryStatus'], ['register', 'cudaSharedMemoryRegister'], ['unregister', 'cudaSharedMemoryUnregister'],
  ]),
}

/** @param url request target as received; the query is ignored. @returns undefined: no such endpoint. */
export function matchRoute(url: string): Route | undefined {
  const query = url.indexOf('?')
  const segments = decodeTarget(query < 0 ? url : url.slice(0, query)).split('/')
  if (segments[0] !== '' || segments[1] !== 'v2') return undefined
  if (segments.length === 2) return route('serverMetadata')
  // Every name is one character or more, so an empty segment (doubled or trailing slash) matches nothing.
  if (segments.includes('', 1)) return undefined
  switch (segments[2]) {
    case 'models': return matchModel(segments)
    case 'health': return segments.length === 4 ? matchHealth(segments[3]) : undefined
    case 'repository': return matchRepository(segments.slice(3))
    case 'systemsharedmemory': return matchRegion(segments.slice(3), REGION_ACTIONS.system)
    case 'cudasharedmemory': return matchRegion(segments.slice(3), REGION_ACTIONS.cuda)
    case 'logging': return segments.length === 3 ? route('logging') : undefined
    case 'npu': return segments.length === 4 && segments[3] === 'faults' ? route('npuFaults') : undefined
    case 'trace': return segments.length === 4 && segments[3] === 'setting' ? route('trace') : undefined
    default: return undefined
  }
}

function matchHealth(name: string | undefined): Route | undefined {
  if (name === 'live') return route('serverLive')
  return name === 'ready' ? route('serverReady') : undefined
}

/** `/v2/models/<name>[/versions/<n>][/<action>]`; `/v2/models/stats` comes first. */
function matchModel(segments: readonly string[]): Route | undefined {
  const model = segments[3]
  if (model === undefined) return undefined
  if (segments.length === 4) return model === 'stats' ? route('modelStatistics') : route('modelMetadata', model)
  const hasVersion = segments[4] === 'versions' && segments.length >= 6
  const version = hasVersion ? (segments[5] as string) : ''
  if (hasVersion && !isDigits(version)) return undefined
  const at = hasVersion ? 6 : 4
  const action = segments[at]
  if (action === undefined) return route('modelMetadata', model, version)
  if (segments.length === at + 2) return action === 'trace' && segments[at + 1] === 'setting' && !hasVersion ? route('trace', model) : undefined
  const kind = MODEL_ACTIONS.get(action) ?? (hasVersion ? undefined : OWN_MODEL_ACTIONS.get(action))
  return kind === undefined || segments.length > at + 1 ? undefined : route(kind, model, version)
}

/** `[/<repo>]/index` and `[/<repo>]/models/<name>/(load|unload)`. */
function matchRepository(parts: readonly string[]): Route | undefined {
  const [first, second, third, fourth] = parts
  if (parts.length === 1) return first === 'index' ? route('repositoryIndex') : undefined
  if (parts.length === 2) return second === 'index' ? route('repositoryIndex', '', '', first) : undefined
  if (parts.length === 3) return first === 'models' ? matchControl('', second as string, third as string) : undefined
  return parts.length === 4 && second === 'models' ? matchControl(first as string, third as string, fourth as string) : undefined
}

function matchControl(repository: string, model: string, action: string): Route | undefined {
  if (action === 'load') return route('modelLoad', model, '', repository)
  return action === 'unload' ? route('modelUnload', model, '', repository) : undefined
}

/** `[/region/<r>]/(status|register|unregister)`. */
function matchRegion(parts: readonly string[], actions: ReadonlyMap<string, RouteKind>): Route | undefined {
  const isNamed = parts.length === 3 && parts[0] === 'region'
  if (!isNamed && parts.length !== 1) return undefined
  const kind = actions.get(parts[isNamed ? 2 : 0] as string)
  return kind === undefined ? undefined : route(kind, '', '', isNamed ? parts[1] : '')
}

function route(kind: RouteKind, model = '', version = '', qualifier = ''): Route {
  return { kind, model, version, qualifier }
}

function isDigits(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code < 0x30 || code > 0x39) return false
  }
  return text !== ''
}

/** Node hands out the target's bytes as Latin-1 characters; names are UTF-8. */
function decodeTarget(path: string): string {
  for (let i = 0; i < path.length; i++) {
    if (path.charCodeAt(i) >= 0x80) return Buffer.from(path, 'latin1').toString('utf8')
  }
  return path
}
