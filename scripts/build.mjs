// Builds what runs outside the sources into dist/: `node scripts/build.mjs [--only server|electron|renderer|native]... [--if-stale] [--native-optional]`.
//   server    dist/server    npu-console.mjs, server-entry.mjs (utility process), one .mjs per worker, .proto files, python-stub/, sample assets
//   electron  dist/electron  main.cjs, preload.cjs
//   renderer  dist/renderer  the console window, by vite
//   native    dist/native    addon.node, libtritonserver.so, om-passport, python/, backends/<name>/libtriton_<name>.so, simulated-cann/, by cmake
// With --if-stale a target whose sources did not change since its last build is left alone, so that a second start is quick. With --native-optional a
// machine without a C++ compiler is no failure: the native parts are left out, with a sentence about what is missing and how to get it.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, delimiter, dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { packageDirectories, writeThirdPartyNotices } from './third-party-notices.mjs'

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..')

/** Packages that stay outside the server bundle: native code, or files that are read at run time. */
const SERVER_EXTERNALS = ['onnxruntime-node', 'onnxruntime-common', '@gutenye/*', '@jjhbw/*', 'bufferutil', 'utf-8-validate']

const targets = {
  server: { sources: ['server-core', 'electron/server-entry.ts', 'assets/sample-repository', 'assets/sample-repository-python', 'assets/model-templates'], needs: ['server-core/cli/main.ts'], build: buildServer },
  electron: { sources: ['electron', 'server-core/contract', 'server-core/cli/cann-environment.ts', 'server-core/cli/restart-flags.ts', 'server-core/telemetry'], needs: ['electron/main.ts', 'electron/preload.ts'], build: buildElectron },
  // The config rules and much else of the server's pure code run in the window too.
  renderer: { sources: ['renderer', 'server-core'], needs: ['renderer/index.html'], build: buildRenderer },
  native: { sources: ['native'], needs: ['native/CMakeLists.txt'], build: buildNative },
}

class BuildError extends Error {}
/** The tools of the native parts are not there. */
class MissingToolsError extends BuildError {}

async function buildServer(outdir) {
  const esbuild = await import('esbuild')
  const entries = ['server-core/cli/main.ts', 'electron/server-entry.ts', ...filesUnder('server-core').filter((file) => /-worker\.ts$/.test(file))]
  const result = await esbuild.build({
    absWorkingDir: root,
    // One flat folder, so that `new URL('./x-worker.mjs', import.meta.url)` finds a worker or a .proto file from any bundle.
    entryPoints: entries.filter((file) => existsSync(join(root, file))).map((file) => ({
      in: file, out: file === 'server-core/cli/main.ts' ? 'npu-console' : basename(file, '.ts'),
    })),
    outdir,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    external: SERVER_EXTERNALS,
    sourcemap: true,
    // CommonJS packages inside the bundle ask for Node's own modules with require().
    banner: { js: "import { createRequire as createRequireForBundle } from 'node:module'; const require = createRequireForBundle(import.meta.url);" },
    metafile: true,
    logLevel: 'warning',
  })
  for (const proto of filesUnder('server-core').filter((file) => file.endsWith('.proto'))) cpSync(join(root, proto), join(outdir, basename(proto)))
  cpSync(join(root, 'server-core/backends/python/stub'), join(outdir, 'python-stub'), { recursive: true, filter: (source) => !source.includes('__pycache__') })
  for (const samples of ['assets/sample-repository', 'assets/sample-repository-python', 'assets/model-templates']) {
    cpSync(join(root, samples), join(outdir, samples), { recursive: true, filter: (source) => !source.endsWith('.test.ts') && !source.includes('__pycache__') })
  }
  return Object.keys(result.metafile.inputs).map((file) => join(root, file))
}

async function buildElectron(outdir) {
  const esbuild = await import('esbuild')
  const result = await esbuild.build({
    absWorkingDir: root,
    entryPoints: ['electron/main.ts', 'electron/preload.ts'],
    outdir,
    outExtension: { '.js': '.cjs' },
    bundle: true,
    format: 'cjs',
    platform: 'node',
    target: 'node24',
    external: ['electron'],
    metafile: true,
    logLevel: 'warning',
  })
  return Object.keys(result.metafile.inputs).map((file) => join(root, file))
}

async function buildRenderer(outDir) {
  const vite = await import('vite')
  const modules = new Set()
  await vite.build({
    configFile: join(root, 'renderer/vite.config.ts'),
    logLevel: 'warn',
    build: { outDir, emptyOutDir: true },
    plugins: [{
      name: 'list-bundled-modules',
      generateBundle() { for (const id of this.getModuleIds()) modules.add(id.replace(/^\0/, '').replace(/\?.*$/, '')) },
    }],
  })
  return [...modules]
}

async function buildNative(outdir) {
  const missing = missingNativeTools()
  if (missing.length > 0) {
    throw new MissingToolsError(`${missing.join(', ')} not found. Install what is missing (Debian and Ubuntu: sudo apt-get install g++ cmake make; openEuler and Fedora: sudo dnf install gcc-c++ cmake make), then run: npm run build`)
  }
  const build = join(root, 'build/native')
  forgetMovedBuild(build)
  run('cmake', ['-S', join(root, 'native'), '-B', build, '-DCMAKE_BUILD_TYPE=Release', `-DNODE_EXECUTABLE=${process.execPath}`],
    'the output above says what is wrong')
  run('cmake', ['--build', build, '--parallel', '2', '--target', 'all', 'simulated_cann'], 'the compiler output above says what is wrong')
  cpSync(join(build, 'addon.node'), join(outdir, 'addon.node'))
  cpSync(join(build, 'triton/libtritonserver.so'), join(outdir, 'libtritonserver.so'))
  cpSync(join(build, 'tools/om-passport'), join(outdir, 'om-passport'))
  cpSync(join(root, 'native/ais_bench/python'), join(outdir, 'python'), { recursive: true, filter: (source) => !source.includes('__pycache__') })
  cpSync(join(build, 'ais_bench/libnpu_console_om.so'), join(outdir, 'python/ais_bench/libnpu_console_om.so'))
  // For --npu=simulated; its libraries have CANN's names, so they lie apart from everything that a loader searches.
  cpSync(join(build, 'simulator/cann'), join(outdir, 'simulated-cann'), { recursive: true })
  for (const library of readdirSync(join(build, 'backends'), { recursive: true }).filter((file) => /^(\w+)\/(libtriton_\1|libnpu_ge_bridge(_cann)?)\.so$/.test(file))) {
    cpSync(join(build, 'backends', library), join(outdir, 'backends', library))
  }
  return [join(root, 'node_modules/node-addon-api/napi.h'), join(root, 'node_modules/node-api-headers/index.js')]
}

/** CMake refuses a build directory that was made where the checkout lay before it was moved or copied: then it is made anew. */
function forgetMovedBuild(build) {
  const cache = join(build, 'CMakeCache.txt')
  if (!existsSync(cache)) return
  const home = /^CMAKE_HOME_DIRECTORY:INTERNAL=(.*)$/m.exec(readFileSync(cache, 'utf8'))?.[1]
  if (home !== join(root, 'native')) rmSync(build, { recursive: true, force: true })
}

/** What the native parts are built with and this machine does not have. CXX may name the compiler, as for cmake. */
function missingNativeTools() {
  const isHere = (name) => (process.env.PATH ?? '').split(delimiter).some((directory) => existsSync(resolve(root, directory, name)))
  const compilers = process.env.CXX === undefined ? ['c++', 'g++', 'clang++'] : [process.env.CXX.split(' ')[0]]
  return [
    ...(compilers.some(isHere) ? [] : [`a C++ compiler (${compilers.join(', ')})`]),
    ...['cmake', 'make'].filter((name) => !isHere(name)),
  ]
}

function run(command, args, remedy) {
  const result = spawnSync(command, args, { cwd: root, encoding: 'utf8' })
  if (result.error) throw new BuildError(`${command} could not be started (${result.error.message}): ${remedy}`)
  if (result.status !== 0) throw new BuildError(`${result.stdout}${result.stderr}\n${command} failed: ${remedy}`)
}

/** Builds beside the old result and swaps at the end: what runs from dist/ meanwhile never sees half a build, and a failed one changes nothing. */
async function buildAndSwap(name, build) {
  const fresh = join(root, `dist/.building-${name}-${process.pid}`)
  const old = join(root, `dist/.old-${name}-${process.pid}`)
  try {
    mkdirSync(fresh, { recursive: true })
    const bundled = await build(fresh)
    if (existsSync(join(root, 'dist', name))) renameSync(join(root, 'dist', name), old)
    renameSync(fresh, join(root, 'dist', name))
    return bundled
  } finally {
    for (const directory of [fresh, old]) rmSync(directory, { recursive: true, force: true })
  }
}

/** All files below a path (or the file itself), relative to the root, tests left out. */
function filesUnder(path) {
  const absolute = join(root, path)
  if (!existsSync(absolute)) return []
  if (statSync(absolute).isFile()) return [path]
  return readdirSync(absolute, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/\.test\.tsx?$/.test(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .sort()
}

/** Changes whenever a source, the lock file or the build itself changes. */
function fingerprint(target) {
  const hash = createHash('sha256')
  for (const file of [...target.sources.flatMap(filesUnder), ...filesUnder('scripts').filter((file) => /(build|notices)\.mjs$/.test(file)), 'package-lock.json', 'package.json']) {
    const { mtimeMs, size } = statSync(join(root, file))
    hash.update(`${file} ${mtimeMs} ${size}\n`)
  }
  return hash.digest('hex')
}

function readStamp(name) {
  const file = join(root, 'dist/.stamps', `${name}.json`)
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : null
}

function writeStamp(name, stamp) {
  mkdirSync(join(root, 'dist/.stamps'), { recursive: true })
  writeFileSync(join(root, 'dist/.stamps', `${name}.json`), JSON.stringify(stamp, null, 1))
}

async function buildTarget(name, ifStale) {
  const target = targets[name]
  const missing = target.needs.filter((file) => !existsSync(join(root, file)))
  if (missing.length > 0) throw new BuildError(`${missing.join(', ')} is not there: ${name} cannot be built`)
  const current = fingerprint(target)
  if (ifStale && readStamp(name)?.fingerprint === current && existsSync(join(root, 'dist', name))) {
    console.log(`build ${name}: up to date`)
    return
  }
  const started = performance.now()
  const bundled = await buildAndSwap(name, target.build)
  writeStamp(name, { fingerprint: current, packages: packageDirectories(root, bundled) })
  console.log(`build ${name}: ${((performance.now() - started) / 1000).toFixed(1)} s`)
}

const { values } = parseArgs({
  options: { only: { type: 'string', multiple: true }, 'if-stale': { type: 'boolean', default: false }, 'native-optional': { type: 'boolean', default: false } },
})
const names = values.only ?? Object.keys(targets)
const unknown = names.find((name) => !Object.hasOwn(targets, name))
if (unknown !== undefined) {
  console.error(`build: unknown target ${unknown}; known: ${Object.keys(targets).join(', ')}`)
  process.exit(1)
}
let failed = 0
for (const name of names) {
  try {
    await buildTarget(name, values['if-stale'])
  } catch (error) {
    if (values['native-optional'] && error instanceof MissingToolsError) {
      console.log(`build native: left out, ${error.message}\nUntil then models run through onnxruntime-node; Triton backends, NPUs and simulated NPUs are not available.`)
      continue
    }
    failed++
    console.error(`build ${name}: ${error instanceof BuildError ? error.message : (error.stack ?? error)}`)
  }
}
writeThirdPartyNotices(join(root, 'dist/THIRD-PARTY-NOTICES.txt'), root, Object.keys(targets).flatMap((name) => readStamp(name)?.packages ?? []))
process.exit(failed === 0 ? 0 : 1)
