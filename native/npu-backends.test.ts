/** What our NPU backends and the bridge to GE ask of others: of the server only its C API, of CANN nothing at link time. Looks at the built product. What they do: cpp.test.ts, groups npu_ge and npu_om. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { BUILD_MILLISECONDS, runProgram } from './test-build.ts'

const libraries = join(import.meta.dirname, '../dist/native/backends')
const serverFunctions = new Set(readFileSync(join(import.meta.dirname, 'test/server-functions.txt'), 'utf8').split('\n').filter((line) => /^\d /.test(line)).map((line) => line.slice(2)))

describe.each(['npu_ge', 'npu_om'])('libtriton_%s.so', (backend) => {
  const library = `${backend}/libtriton_${backend}.so`

  it('imports of the server only functions of its C API, and beside them only those of the C and C++ libraries', () => {
    const imported = symbols(library, '--undefined-only')
    expect(imported.filter((name) => /^TRITON/.test(name)).length).toBeGreaterThan(40)
    expect(imported.filter((name) => /^TRITON/.test(name) && !serverFunctions.has(name))).toEqual([])
    // The rest carries the version of the library it comes from, or is of the compiler's own making.
    expect(imported.filter((name) => !/^TRITON|@(GLIBC|GLIBCXX|CXXABI|GCC)_|^_ITM_|^__gmon_start__$/.test(name))).toEqual([])
    expect(needed(library)).toEqual(expect.arrayContaining(['libtritonserver.so']))
  })

  it('exports the entry points of a backend and nothing else', () => {
    const exported = symbols(library, '--defined-only')
    expect(exported).toContain('TRITONBACKEND_ModelInstanceExecute')
    expect(exported.filter((name) => !/^(TRITONBACKEND|NPUCONSOLE)_/.test(name))).toEqual([])
  })

  it('is linked against nothing of CANN', () => expect(foreign(library)).toEqual([]))
})

describe('libnpu_ge_bridge.so', () => {
  const bridge = 'npu_ge/libnpu_ge_bridge.so'

  it('is linked against nothing of CANN, shows C only and takes no strings of the new ABI', () => {
    expect(foreign(bridge)).toEqual([])
    expect(symbols(bridge, '--defined-only')).toEqual(['npu_ge_bridge'])
    const ofGe = symbols(bridge, '--undefined-only').filter((name) => /^_ZNK?2ge/.test(name))
    expect(ofGe).toContain('_ZN2ge7Session12CompileGraphEj')
    expect(ofGe.filter((name) => /cxx11|basic_string|Ss/.test(name))).toEqual([])
  })
})

describe('libnpu_ge_bridge_cann.so', () => {
  // An installation with our own declarations as its headers: what is held here is that the build finds them and makes a second bridge, not that CANN's compile.
  it('is built too where ASCEND_HOME_PATH leads to headers, from those', { timeout: BUILD_MILLISECONDS }, async () => {
    const temporary = mkdtempSync(join(tmpdir(), 'cann-headers-'))
    try {
      const home = join(temporary, 'cann'), build = join(temporary, 'build')
      mkdirSync(home)
      symlinkSync(join(import.meta.dirname, 'ascend/include'), join(home, 'include'))
      const configured = await runProgram('cmake', ['-S', import.meta.dirname, '-B', build, '-DNPU_CONSOLE_ADDON=OFF'], { ASCEND_HOME_PATH: home })
      expect(configured).toMatchObject({ failure: null, output: expect.stringContaining(`The GE bridge is also built against CANN's headers in ${join(home, 'include')}`) as string })
      const built = await runProgram('cmake', ['--build', build, '--target', 'npu_ge_bridge_cann'])
      expect(built).toMatchObject({ failure: null })
      const bridge = join(build, 'backends/npu_ge/libnpu_ge_bridge_cann.so')
      expect(symbols(bridge, '--defined-only')).toEqual(['npu_ge_bridge'])
      expect(readFileSync(bridge, 'latin1')).toContain("CANN's headers")
      expect(readFileSync(join(build, 'ascend/CMakeFiles/npu_ge_bridge_cann.dir/flags.make'), 'utf8')).toContain(`-isystem ${join(home, 'include')}`)
    } finally {
      rmSync(temporary, { recursive: true, force: true })
    }
  })
})

function symbols(library: string, which: string): string[] {
  return execFileSync('nm', ['-D', which, resolve(libraries, library)], { encoding: 'utf8' }).trim().split('\n').map((line) => line.trim().split(/\s+/).at(-1) ?? '').sort()
}

function needed(library: string): string[] {
  return [...execFileSync('readelf', ['-d', join(libraries, library)], { encoding: 'utf8' }).matchAll(/NEEDED.*\[([^\]]+)\]/g)].map(([, name = '']) => name)
}

/** What it needs beside the server and the libraries of every Linux. */
function foreign(library: string): string[] {
  return needed(library).filter((name) => !/^(libtritonserver|libstdc\+\+|libgcc_s|libm|libc|ld-linux[-\w]*)\.so/.test(name))
}
