import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

const root = resolve(import.meta.dirname, '..')

/** A project with the real build and a small shell as its only source. */
let project: string

beforeEach(() => {
  project = mkdtempSync(join(tmpdir(), 'build-'))
  for (const file of ['scripts/build.mjs', 'scripts/third-party-notices.mjs', 'package.json', 'package-lock.json']) cpSync(join(root, file), join(project, file))
  symlinkSync(join(root, 'node_modules'), join(project, 'node_modules'))
  mkdirSync(join(project, 'electron'))
  writeFileSync(join(project, 'electron/main.ts'), "import { app } from 'electron'\napp.quit()\n")
  writeFileSync(join(project, 'electron/preload.ts'), 'export {}\n')
})

afterEach(() => { rmSync(project, { recursive: true, force: true }) })

function build(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(project, 'scripts/build.mjs'), ...args], { encoding: 'utf8' })
  return { status, stdout, stderr }
}

describe('build', () => {
  it('bundles the shell with Electron left outside, as CommonJS', () => {
    expect(build('--only', 'electron')).toMatchObject({ status: 0, stderr: '' })
    expect(readFileSync(join(project, 'dist/electron/main.cjs'), 'utf8')).toContain('require("electron")')
    expect(existsSync(join(project, 'dist/electron/preload.cjs'))).toBe(true)
  })

  it('does nothing with --if-stale until a source changes', () => {
    expect(build('--only', 'electron', '--if-stale').stdout).toMatch(/build electron: [\d.]+ s/)
    expect(build('--only', 'electron', '--if-stale').stdout).toBe('build electron: up to date\n')
    writeFileSync(join(project, 'electron/window.ts'), 'export {}\n')
    expect(build('--only', 'electron', '--if-stale').stdout).toMatch(/build electron: [\d.]+ s/)
    rmSync(join(project, 'electron/window.ts'))
    expect(build('--only', 'electron', '--if-stale').stdout).toMatch(/build electron: [\d.]+ s/)
    rmSync(join(project, 'dist/electron'), { recursive: true })
    expect(build('--only', 'electron', '--if-stale').stdout).toMatch(/build electron: [\d.]+ s/)
  })

  it('keeps the last result when a build fails, and fails itself', () => {
    build('--only', 'electron')
    const before = readFileSync(join(project, 'dist/electron/main.cjs'), 'utf8')
    writeFileSync(join(project, 'electron/main.ts'), 'let x = ;\n')
    const failed = build('--only', 'electron', '--if-stale')
    expect(failed.status).toBe(1)
    expect(failed.stderr).toContain('electron/main.ts')
    expect(readFileSync(join(project, 'dist/electron/main.cjs'), 'utf8')).toBe(before)
  })

  it('names sources that are missing and targets that it does not know', () => {
    expect(build('--only', 'renderer')).toMatchObject({ status: 1, stderr: 'build renderer: renderer/index.html is not there: renderer cannot be built\n' })
    expect(build('--only', 'window')).toMatchObject({ status: 1, stderr: 'build: unknown target window; known: server, electron, renderer, native\n' })
  })

  it('names what a machine without a compiler lacks, and leaves the native parts out where they are optional', () => {
    mkdirSync(join(project, 'native'))
    writeFileSync(join(project, 'native/CMakeLists.txt'), '')
    const bare = (...args: string[]) => spawnSync(process.execPath, [join(project, 'scripts/build.mjs'), ...args], { encoding: 'utf8', env: { PATH: join(project, 'nothing') } })
    const refused = bare('--only', 'native')
    expect(refused.status).toBe(1)
    expect(refused.stderr).toContain('build native: a C++ compiler (c++, g++, clang++), cmake, make not found. Install what is missing (Debian and Ubuntu: sudo apt-get install g++ cmake make;')
    const leftOut = bare('--only', 'electron', '--only', 'native', '--native-optional')
    expect(leftOut).toMatchObject({ status: 0, stderr: '' })
    expect(leftOut.stdout).toContain('build native: left out, a C++ compiler (c++, g++, clang++), cmake, make not found.')
    expect(leftOut.stdout).toContain('models run through onnxruntime-node')
    expect(existsSync(join(project, 'dist/electron/main.cjs'))).toBe(true)
    expect(existsSync(join(project, 'dist/native'))).toBe(false)
  })

  it('configures the native parts anew where the checkout was moved or copied', () => {
    mkdirSync(join(project, 'native'))
    mkdirSync(join(project, 'build/native'), { recursive: true })
    writeFileSync(join(project, 'native/CMakeLists.txt'), 'cmake_minimum_required(VERSION 3.21)\nproject(moved NONE)\nmessage(FATAL_ERROR "configured here")\n')
    writeFileSync(join(project, 'build/native/CMakeCache.txt'), 'CMAKE_CACHEFILE_DIR:INTERNAL=/elsewhere/build/native\nCMAKE_HOME_DIRECTORY:INTERNAL=/elsewhere/native\n')
    expect(build('--only', 'native').stderr).toContain('configured here')
  })
})
