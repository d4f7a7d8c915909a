import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { STUB_DIRECTORY } from '../../installed-paths.ts'
import { testInterpreter } from '../../testing/python-models.ts'

const TESTS = join(import.meta.dirname, 'stub-tests')

describe('the Python side', () => {
  it.each(['test_utils.py', 'test_import_hints.py'])('passes its own tests: %s', (file) => {
    const { status, stderr } = spawnSync(testInterpreter(), ['-B', '-W', 'error', join(TESTS, file)], { encoding: 'utf8', env: { ...process.env, PYTHONPATH: STUB_DIRECTORY } })
    expect(`${status}\n${stderr}`).toMatch(/^0\n[^]*Ran \d+ tests in [^]*\nOK\n$/)
  })

  it('has the syntax of Python 3.8, and imports nothing but the standard library and numpy', () => {
    const check = `
import ast, importlib.util, os, sys, sysconfig
def is_standard(name):
    spec = importlib.util.find_spec(name)
    origin = None if spec is None else spec.origin
    paths = tuple(os.path.realpath(sysconfig.get_path(key)) + os.sep for key in ("stdlib", "platstdlib"))
    return name in sys.builtin_module_names or origin in ("built-in", "frozen") or (origin is not None and os.path.realpath(origin).startswith(paths) and "-packages" not in origin)
found = set()
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read(), path, feature_version=(3, 8))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import): found.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0: found.add(node.module.partition(".")[0])
print(",".join(sorted(name for name in found if not is_standard(name))))
`
    const files = readdirSync(STUB_DIRECTORY, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.py')).map((name) => join(STUB_DIRECTORY, name))
    expect(files.length).toBeGreaterThan(10)
    const { status, stdout, stderr } = spawnSync(testInterpreter(), ['-c', check, ...files], { encoding: 'utf8' })
    expect([status, stdout.trim(), stderr]).toEqual([0, 'numpy,pb_stub,triton_python_backend_utils', ''])
  })

  it('says what an interpreter lacks', () => {
    const noNumpy = spawnSync(testInterpreter(), ['-I', '-S', join(STUB_DIRECTORY, 'triton_python_backend_stub.py')], { encoding: 'utf8' })
    expect([noNumpy.status, noNumpy.stderr]).toEqual([1, expect.stringMatching(/ cannot import numpy: .*Install it for that interpreter .* or choose another interpreter with the parameter PYTHON_INTERPRETER of the model or --backend-config=python,interpreter=PATH\.\n$/) as string])
  })
})
