import { fileURLToPath } from 'node:url'

/** Where the things that ship with the server lie: beside the sources in a checkout, beside the bundle in a build. */
const isSource = import.meta.url.endsWith('.ts')
const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))

export const ASSETS_DIRECTORY = isSource ? here('../assets') : here('./assets')
/** The built console page. */
export const RENDERER_DIRECTORY = isSource ? here('../dist/renderer') : here('../renderer')
/** The programs of Python model instances. */
export const STUB_DIRECTORY = isSource ? here('./backends/python/stub') : here('./python-stub')
/** The .proto files; undefined: the gRPC front end finds its own. */
export const PROTO_DIRECTORY = isSource ? undefined : here('.')
