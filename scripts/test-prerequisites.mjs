// What the tests need beyond npm packages. On a Debian machine as root it is installed; elsewhere the missing pieces and the fix are named.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'

const PACKAGES = [
  { package: 'chromium', what: 'Chromium (end-to-end tests)', isHere: () => chromiumPath() !== undefined },
  { package: 'xvfb', what: 'Xvfb (a display for tests with windows)', isHere: () => runs('Xvfb', ['-help']) },
  { package: 'python3', what: 'Python 3 (the ordinary client of the end-to-end tests)', isHere: () => runs('python3', ['--version']) },
  { package: 'python3-numpy', what: 'numpy for that Python', isHere: () => runs(pythonPath(), ['-c', 'import numpy']) },
  { package: 'g++', what: 'a C++20 compiler (native parts)', isHere: () => runs('g++', ['--version']) || runs('c++', ['--version']) },
  { package: 'cmake', what: 'CMake 3.21 or newer (native parts)', isHere: () => runs('cmake', ['--version']) },
  { package: 'make', what: 'make (native parts)', isHere: () => runs('make', ['--version']) },
  { package: 'util-linux', what: 'flock (test files that share a native build)', isHere: () => runs('flock', ['--version']) },
]

/** The Chromium that the tests drive: CHROMIUM_PATH, or where Debian and others put it. */
export function chromiumPath() {
  const candidates = [process.env.CHROMIUM_PATH, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome', '/usr/bin/google-chrome-stable']
  return candidates.find((path) => path !== undefined && existsSync(path))
}

/** A Python 3 with numpy, if there is one; else plain python3. */
export function pythonPath() {
  return ['python3', '/usr/bin/python3'].find((python) => runs(python, ['-c', 'import numpy'])) ?? 'python3'
}

/** Installs or names what is missing. @returns true when everything is here */
export function ensureTestPrerequisites() {
  let missing = PACKAGES.filter((entry) => !entry.isHere())
  if (missing.length === 0) return true
  const isDebianRoot = process.getuid?.() === 0 && existsSync('/etc/debian_version') && runs('apt-get', ['--version'])
  if (isDebianRoot) {
    const names = missing.map((entry) => entry.package)
    console.log(`npm test: installing ${names.join(', ')} ...`)
    const options = { stdio: ['ignore', 'ignore', 'inherit'], env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } }
    spawnSync('apt-get', ['update', '-qq'], options)
    spawnSync('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...names], options)
    missing = missing.filter((entry) => !entry.isHere())
    if (missing.length === 0) return true
  }
  for (const entry of missing) {
    console.error(`npm test: missing ${entry.what}. Install it and run npm test again (on Debian and Ubuntu: sudo apt-get install ${entry.package}${entry.package === 'chromium' ? ', or set CHROMIUM_PATH to a Chromium' : ''}).`)
  }
  return false
}

function runs(command, args) {
  const result = spawnSync(command, args, { stdio: 'ignore' })
  return result.error === undefined && (result.status === 0 || (command === 'Xvfb' && result.status !== null))
}
