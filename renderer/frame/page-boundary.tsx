/** A page that breaks must not take the window down: says so, with the text for a report, and offers another try. */
import { Button } from '@fluentui/react-components'
import { Component } from 'react'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { ErrorNotice } from '../components/error-notice.tsx'

interface PageBoundaryState { readonly error: unknown }

export class PageBoundary extends Component<{ readonly children: ReactNode }, PageBoundaryState> {
  override state: PageBoundaryState = { error: null }

  static getDerivedStateFromError(error: unknown): PageBoundaryState {
    return { error }
  }

  override render(): ReactNode {
    return this.state.error === null ? this.props.children : <BrokenPage error={this.state.error} retry={() => this.setState({ error: null })} />
  }
}

function BrokenPage({ error, retry }: { readonly error: unknown; readonly retry: () => void }) {
  const { t } = useTranslation()
  return (
    <div className="npu-page">
      <ErrorNotice sentence={t('pageBroken.sentence')} nextStep={t('pageBroken.nextStep')} error={error instanceof Error ? (error.stack ?? error.message) : error}
        actions={<Button onClick={retry}>{t('retry')}</Button>} />
    </div>
  )
}
