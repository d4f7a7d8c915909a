/** Archives of Python environments for tests, as conda-pack and venv-pack make them. */
import { spawnSync } from 'node:child_process'
import { testInterpreter } from './python-models.ts'

/** One entry of an archive: a file's text, a link's target, or another kind of thing. */
export type ArchiveEntry = { readonly text: string; readonly mode?: number } | { readonly link: string } | { readonly hardLink: string } | { readonly kind: 'device' | 'pipe' }

const WRITER = `
import io, json, os, sys, tarfile
path, mode, entries = sys.argv[1], sys.argv[2], json.load(sys.stdin)
with tarfile.open(path, mode) as tar:
    for name, entry in entries.items():
        info = tarfile.TarInfo(name)
        data = entry.get("text", "").encode()
        info.mode, info.size, info.mtime = entry.get("mode", 0o644), len(data), 1700000000
        if "link" in entry: info.type, info.linkname = tarfile.SYMTYPE, entry["link"]
        elif "hardLink" in entry: info.type, info.linkname = tarfile.LNKTYPE, entry["hardLink"]
        elif entry.get("kind") == "device": info.type, info.devmajor, info.devminor = tarfile.CHRTYPE, 1, 3
        elif entry.get("kind") == "pipe": info.type = tarfile.FIFOTYPE
        tar.addfile(info, io.BytesIO(data))
`

/** @param compression as Python's tarfile names it; '' : none */
export function writeArchive(path: string, entries: Readonly<Record<string, ArchiveEntry>>, compression: '' | 'gz' | 'xz' | 'bz2' = 'gz'): void {
  const { status, stderr } = spawnSync(testInterpreterFile(), ['-I', '-c', WRITER, path, `w:${compression}`], { input: JSON.stringify(entries), encoding: 'utf8' })
  if (status !== 0) throw new Error(`the archive ${path} was not written: ${stderr}`)
}

/** The file of the interpreter that tests run with. */
export function testInterpreterFile(): string {
  return file ??= spawnSync(testInterpreter(), ['-c', 'import os, sys; print(os.path.realpath(sys.executable))'], { encoding: 'utf8' }).stdout.trim()
}

let file: string | null = null

/** An environment with that interpreter, which activates itself wherever it lies; `conda-unpack` notes where that was. */
export function environmentEntries(more: Readonly<Record<string, ArchiveEntry>> = {}): Readonly<Record<string, ArchiveEntry>> {
  const interpreter = testInterpreterFile()
  return {
    'pyvenv.cfg': { text: `home = ${interpreter.replace(/\/[^/]*$/, '')}\ninclude-system-site-packages = true\n` },
    'bin/activate': { text: 'CONDA_PREFIX="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"\nexport CONDA_PREFIX PATH="$CONDA_PREFIX/bin:$PATH" FROM_ACTIVATE="with \\"quotes\\" and\nlines"\nunset TO_BE_UNSET\n' },
    'bin/python3': { link: interpreter },
    'bin/python': { link: 'python3' },
    'bin/conda-unpack': { text: 'import os\nroot = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))\nopen(os.path.join(root, "unpacked-at"), "a").write(root + "\\n")\n', mode: 0o755 },
    'lib/a': { text: 'a' },
    'lib64': { link: 'lib' },
    ...more,
  }
}
