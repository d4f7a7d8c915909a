/** Beside an error of a model written in Python: where in its files, how its process ended, and folded the traceback or what the process wrote last. */
import { useTranslation } from 'react-i18next'
import type { LogEntry } from '../../../server-core/contract/console-api.ts'
import type { ModelSummary } from '../../../server-core/contract/repository.ts'
import { CopyButton } from '../../components/copy-button.tsx'
import { Disclosure } from '../../components/disclosure.tsx'
import { FileIcon } from '../../components/icons.tsx'
import { useConsole } from '../../console-store.ts'
import { formatFrame, lastDeathIn, placeOfFailure, readPythonFailure, tracebackIn } from '../../lib/python-failure.ts'
import type { PythonFailure } from '../../lib/python-failure.ts'
import { routeHash } from '../../router.ts'

interface PythonFailureDetailsProps {
  readonly model: Pick<ModelSummary, 'name' | 'repositoryPath'>
  /** Of the server, as it came. Nothing is shown for one that is not about a model.py. */
  readonly text: string
  /** More of the model's log than the window has followed. */
  readonly log?: readonly LogEntry[]
}

export function PythonFailureDetails({ model, text, log = NONE }: PythonFailureDetailsProps) {
  const { t } = useTranslation('failure')
  const live = useConsole((state) => state.log)
  const told = readPythonFailure(text)
  if (told === null) return null
  const entries = [...log, ...live]
  const failure = withDeath(told, entries, model.name)
  const directory = `${model.repositoryPath}/${model.name}`
  const place = placeOfFailure(failure, directory)
  const traceback = failure.endedInstance === null ? tracebackIn(entries, model.name, failure.summary) ?? framesText(failure) : ''
  const shown = traceback === '' ? failure.lastLines : traceback
  const title = t(traceback === '' ? 'python.lastLines' : 'python.traceback')
  return (
    <div className="npu-column" data-testid="python-failure">
      {failure.endedInstance !== null && <p>{t('python.ended', { instance: failure.endedInstance })}{failure.summary !== '' && <> <span className="npu-mono">{failure.summary}</span></>}</p>}
      {place !== null && (
        <div className="npu-row">
          <span className="npu-quiet"><FileIcon /></span>
          <a className="npu-link npu-mono npu-break" href={routeHash('models', model.name, 'files')} title={place.file} data-testid="python-place">{formatFrame(place, directory)}</a>
          <span className="npu-quiet npu-mono">{place.name}</span>
        </div>
      )}
      {shown !== '' && (
        <Disclosure title={title} note={t('lines', { count: shown.split('\n').length })} isInitiallyOpen actions={<CopyButton label={t('python.copy')} text={shown} />}>
          <pre className="npu-server-text" tabIndex={0} aria-label={title}>{shown}</pre>
        </Disclosure>
      )}
    </div>
  )
}

const NONE: readonly never[] = []

/** The answer to a request says only that the process is gone; how it ended stands in the log. */
function withDeath(failure: PythonFailure, log: readonly LogEntry[], model: string): PythonFailure {
  if (failure.endedInstance === null || failure.summary !== '') return failure
  const death = lastDeathIn(log, model, failure.endedInstance)
  return (death === null ? null : readPythonFailure(death)) ?? failure
}

/** Where the log has lost the traceback, its places, outermost first as Python has them. */
function framesText({ frames, summary }: PythonFailure): string {
  return [...frames.toReversed().map(({ file, line, name }) => `  File "${file}", line ${line}, in ${name}`), summary].join('\n')
}
