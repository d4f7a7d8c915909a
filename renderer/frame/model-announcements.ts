/** Says state changes of models to screen readers: failures at once, the rest politely. */
import { useEffect } from 'react'
import { useTranslation } from 'react-i18next'
import { announce } from '../components/live-region.tsx'
import { useConsole } from '../console-store.ts'

export function useModelAnnouncements(): void {
  const { t } = useTranslation()
  useEffect(() => useConsole.subscribe((state, before) => {
    const newest = state.activity[0]
    if (newest === undefined || newest === before.activity[0] || before.models === null) return
    const text = newest.model === null ? t(`activity.${newest.kind}`) : t('frame.modelSays', { model: newest.model, what: t(`activity.${newest.kind}`) })
    announce(text, newest.kind === 'failed' || newest.kind === 'connectionLost' ? 'assertive' : 'polite')
  }), [t])
}
