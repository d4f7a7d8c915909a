/** The Python that a model runs with, and the way to another: what the engine found on its machine, and what became of the choice. */
import { Button, Radio, RadioGroup } from '@fluentui/react-components'
import { useId, useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { ModelDetail } from '../../../server-core/contract/console-api.ts'
import { PYTHON_INTERPRETER_PARAMETER, type PythonInterpreter } from '../../../server-core/contract/python-interpreters.ts'
import { Card } from '../../components/card.tsx'
import { ErrorNotice, errorText } from '../../components/error-notice.tsx'
import { EditIcon, SaveIcon } from '../../components/icons.tsx'
import { announce } from '../../components/live-region.tsx'
import { StatePill } from '../../components/state-pill.tsx'
import { command } from '../../console-client.ts'
import { UNKNOWN } from '../../lib/format.ts'
import { localized } from '../../lib/localized-text.ts'
import { chooseInterpreter, type InterpreterOutcome } from './interpreter-store.ts'
import { useLoadAvailability } from './models-store.ts'
import { PythonFailureDetails } from './python-failure-details.tsx'
import './interpreter-card.css'

/** The engine's own choice, where the config names none. */
const ENGINE = ''

type Search = { readonly kind: 'closed' | 'searching' } | { readonly kind: 'found'; readonly interpreters: readonly PythonInterpreter[] } | { readonly kind: 'failed'; readonly error: unknown }

export function InterpreterCard({ detail }: { readonly detail: ModelDetail }) {
  const { t } = useTranslation('model-detail')
  const labelId = useId()
  const availability = useLoadAvailability()
  const { summary, config } = detail
  const [search, setSearch] = useState<Search>({ kind: 'closed' })
  const [chosen, setChosen] = useState<string | null>(null)
  const [isBusy, setBusy] = useState(false)
  const [outcome, setOutcome] = useState<InterpreterOutcome | null>(null)
  const python = summary.versions.flatMap(({ instances }) => instances).find((instance) => instance.process !== undefined)?.process?.python
  const configured = config?.parameters[PYTHON_INTERPRETER_PARAMETER]?.string_value ?? ENGINE
  const value = chosen ?? configured
  const open = () => {
    setSearch({ kind: 'searching' })
    setOutcome(null)
    command('python.interpreters', { model: summary.name }).then((interpreters) => { setSearch({ kind: 'found', interpreters }) }, (error: unknown) => { setSearch({ kind: 'failed', error }) })
  }
  const apply = async () => {
    setBusy(true)
    setOutcome(null)
    const result = await chooseInterpreter(summary.name, value === ENGINE ? null : value, availability.canChange)
    setOutcome(result)
    setBusy(false)
    if (result.kind === 'done') {
      announce(t('interpreter.done'))
      setSearch({ kind: 'closed' })
    }
    setChosen(null)
  }
  return (
    <Card title={t('interpreter.title')} actions={search.kind === 'closed' ? <Button size="small" className="npu-small" icon={<EditIcon />} onClick={open} data-testid="interpreter-choose">{t('interpreter.choose')}</Button> : undefined}>
      <dl className="npu-facts" data-testid="interpreter-facts">
        <div><dt>{t('interpreter.inUse')}</dt><dd className="npu-mono npu-break">{python?.interpreter ?? UNKNOWN}</dd></div>
        <div><dt>{t('interpreter.versions')}</dt><dd>{python === undefined ? t('interpreter.unknown') : t('process.python', { version: python.version, numpy: python.numpyVersion })}</dd></div>
        <div><dt>{t('interpreter.config')}</dt><dd className="npu-mono npu-break">{configured === ENGINE ? t('interpreter.engine') : configured}</dd></div>
      </dl>
      {search.kind === 'searching' && <p className="npu-secondary" role="status">{t('interpreter.searching')}</p>}
      {search.kind === 'failed' && <ErrorNotice sentence={t('interpreter.searchFailed')} error={search.error} actions={<Button size="small" onClick={open}>{t('common:retry')}</Button>} />}
      {search.kind === 'found' && (
        <div className="npu-column">
          <p className="npu-label" id={labelId}>{t('interpreter.found')}</p>
          <RadioGroup className="npu-interpreters" aria-labelledby={labelId} value={value} disabled={isBusy} onChange={(_event, data) => { setChosen(data.value) }}>
            <Radio value={ENGINE} label={<><b>{t('interpreter.engine')}</b><Known interpreter={search.interpreters.find(({ isDefault }) => isDefault)} withPath /></>} />
            {search.interpreters.map((interpreter) => <Radio key={interpreter.path} value={interpreter.path} disabled={interpreter.problem !== null} label={<><span className="npu-mono npu-break">{interpreter.path}</span><Known interpreter={interpreter} /></>} data-testid={`interpreter-${interpreter.path}`} />)}
          </RadioGroup>
          <div className="npu-row npu-interpreter-buttons">
            <Button appearance="primary" icon={<SaveIcon />} disabledFocusable={isBusy || value === configured} onClick={() => { if (!isBusy && value !== configured) void apply() }} data-testid="interpreter-apply">{t(availability.canChange ? 'interpreter.apply' : 'interpreter.save')}</Button>
            <Button disabled={isBusy} onClick={() => { setSearch({ kind: 'closed' }); setChosen(null) }}>{t('common:close')}</Button>
            {isBusy && <span className="npu-secondary" role="status">{t('interpreter.applying')}</span>}
          </div>
          <p className="npu-secondary">{t('interpreter.hint')}</p>
        </div>
      )}
      {outcome !== null && <Outcome outcome={outcome} detail={detail} />}
    </Card>
  )
}

function Known({ interpreter, withPath = false }: { readonly interpreter: PythonInterpreter | undefined; readonly withPath?: boolean }) {
  const { t } = useTranslation('model-detail')
  if (interpreter === undefined) return null
  const { version, numpyVersion, torchVersion, torchNpuVersion, kind, problem, path } = interpreter
  const named = (name: string, told: string | null) => (told === null ? [] : [`${name} ${told}`.trim()])
  const facts = [...(withPath ? [path] : [t(`interpreter.kind.${kind}`)]), ...named('Python', version), ...named('numpy', numpyVersion), ...named('torch', torchVersion), ...named('torch_npu', torchNpuVersion)]
  return <span className="npu-interpreter-known npu-secondary"><span className="npu-break">{facts.join(' · ')}</span>{problem !== null && <span className="npu-break">{localized(problem)}</span>}</span>
}

function Outcome({ outcome, detail }: { readonly outcome: InterpreterOutcome; readonly detail: ModelDetail }) {
  const { t } = useTranslation('model-detail')
  switch (outcome.kind) {
    case 'done': return <div data-testid="interpreter-outcome"><StatePill kind="ready" text={t(outcome.isLoaded ? 'interpreter.done' : 'interpreter.saved')} isPlain /></div>
    case 'conflict': return <p className="npu-secondary" role="alert" data-testid="interpreter-outcome">{t('interpreter.conflict')}</p>
    case 'takenBack': case 'kept': case 'failed': return (
      <div data-testid="interpreter-outcome">
        <ErrorNotice sentence={t(`interpreter.${outcome.kind}`)} error={outcome.error} details={<PythonFailureDetails model={detail.summary} text={errorText(outcome.error)} log={detail.log} />} />
      </div>
    )
  }
}
