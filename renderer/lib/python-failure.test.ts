import { describe, expect, it } from 'vitest'
import type { LogEntry } from '../../server-core/contract/console-api.ts'
import { formatFrame, lastDeathIn, placeOfFailure, readPythonFailure, tracebackIn } from './python-failure.ts'

const DIRECTORY = '/models/m'
const RAISED = `Failed to process the request(s) for model 'm_0', message: ValueError: bad value\n\nAt:\n  /usr/lib/python3/numpy/core.py(7): check\n  ${DIRECTORY}/1/model.py(12): inner\n  ${DIRECTORY}/1/model.py(9): execute\n`
const CRASHED = `Stub process 'm_0' is not healthy. It was killed by SIGSEGV. Its last lines:\nFatal Python error: Segmentation fault\n\nCurrent thread 0x1 (most recent call first):\n  File "/usr/lib/python3.11/ctypes/__init__.py", line 519 in string_at\n  File "${DIRECTORY}/1/model.py", line 12 in execute\n`
let sequence = 0
const line = (message: string, fields: LogEntry['fields'] = { model: 'm', stream: 'stderr' }): LogEntry => ({ sequence: ++sequence, time: 1000, level: 'warning', source: 'backend-python', message, fields })

describe('a failure of a model.py', () => {
  it('that raised has its exception and the place in the model', () => {
    const failure = readPythonFailure(RAISED)
    expect(failure).toMatchObject({ summary: 'ValueError: bad value', endedInstance: null, frames: [{ name: 'check' }, { line: 12, name: 'inner' }, { name: 'execute' }] })
    const place = failure === null ? null : placeOfFailure(failure, DIRECTORY)
    expect(place === null ? '' : formatFrame(place, DIRECTORY)).toBe('1/model.py:12')
  })

  it('of a load begins with the kind of the error, and may end with what helps', () => {
    expect(readPythonFailure(`Internal: ModuleNotFoundError: No module named 'x'\n\nAt:\n  ${DIRECTORY}/1/model.py(1): <module>\n\nThe model runs with /usr/bin/python3 (Python 3.11), which cannot import 'x'.`))
      .toMatchObject({ summary: "ModuleNotFoundError: No module named 'x'", frames: [{ line: 1, name: '<module>' }] })
  })

  it('that ended its process has how, what it wrote last, and where it was', () => {
    const failure = readPythonFailure(CRASHED)
    expect(failure).toMatchObject({ summary: 'It was killed by SIGSEGV.', endedInstance: 'm_0', lastLines: expect.stringContaining('Fatal Python error') as string })
    expect(failure === null ? null : placeOfFailure(failure, DIRECTORY)).toMatchObject({ line: 12, name: 'execute' })
    expect(readPythonFailure("Failed to process the request(s) for model instance 'm_0', message: Stub process 'm_0' is not healthy.")).toMatchObject({ summary: '', lastLines: '', endedInstance: 'm_0' })
  })

  it('that ended its process takes no place from the traceback of an earlier request', () => {
    const failure = readPythonFailure("Stub process 'm_0' is not healthy. It ended with exit code 3. Its last lines:\nTraceback (most recent call last):\n  File \"/models/m/1/model.py\", line 9, in check\nValueError: earlier\nout of luck")
    expect(failure).toMatchObject({ frames: [], lastLines: expect.stringContaining('out of luck') as string })
  })

  it('is none where other texts of the server are', () => {
    expect(readPythonFailure("unable to find backend library for backend 'tensorrt'")).toBeNull()
    expect(readPythonFailure('At: the end')).toBeNull()
  })
})

describe('the log of a model', () => {
  const CHAIN = ['Traceback (most recent call last):', '  File "a.py", line 1, in f', '    {}["k"]', "KeyError: 'k'", '', 'During handling of the above exception, another exception occurred:', '', 'Traceback (most recent call last):',
    '  File "model.py", line 12, in execute', '    raise ValueError("bad value")', 'ValueError: bad value']

  it('has the whole traceback, with what caused the exception, and nothing that stood before it', () => {
    const log = [line('ValueError: bad value'), line('warming up'), ...CHAIN.map((text) => line(text)), line('later'), line('ValueError: bad value', { model: 'other', stream: 'stderr' })]
    expect(tracebackIn(log, 'm', 'ValueError: bad value')).toBe(CHAIN.join('\n'))
    expect(tracebackIn(log, 'm', 'TypeError: other')).toBeNull()
    expect(tracebackIn([line('ValueError: bad value')], 'm', 'ValueError: bad value')).toBeNull()
  })

  it('tells the last death of an instance', () => {
    const died = (instance: string, error: string) => line('model instance died', { model: 'm', instance, error })
    expect(lastDeathIn([died('m_0', 'first'), died('m_0', 'second'), died('m_1', 'of another')], 'm', 'm_0')).toBe('second')
    expect(lastDeathIn([], 'm', 'm_0')).toBeNull()
  })
})
