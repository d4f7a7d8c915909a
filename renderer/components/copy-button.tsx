/** Copies a text and says so. */
import { Button } from '@fluentui/react-components'
import { useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { CheckIcon, CopyIcon } from './icons.tsx'
import { IconButton } from './icon-button.tsx'
import { announce } from './live-region.tsx'

interface CopyButtonProps {
  /** The text, or a function that makes it when asked. */
  readonly text: string | (() => string)
  /** What is copied, as the button's name: "Copy HTTP address". */
  readonly label: string
  /** Shows the label beside the icon. */
  readonly hasLabel?: boolean
}

export function CopyButton({ text, label, hasLabel = false }: CopyButtonProps) {
  const { t } = useTranslation()
  const [outcome, setOutcome] = useState<'copied' | 'refused' | null>(null)
  useEffect(() => {
    if (outcome === null) return
    const timer = setTimeout(() => setOutcome(null), 1500)
    return () => clearTimeout(timer)
  }, [outcome])
  const copy = () => {
    navigator.clipboard.writeText(typeof text === 'string' ? text : text()).then(
      () => { setOutcome('copied'); announce(t('copied')) },
      () => { setOutcome('refused'); announce(t('copyRefused'), 'assertive') },
    )
  }
  const icon = outcome === 'copied' ? <CheckIcon /> : <CopyIcon />
  const shown = outcome === 'refused' ? t('copyRefused') : outcome === 'copied' ? t('copied') : label
  return hasLabel
    ? <Button appearance="subtle" size="small" icon={icon} onClick={copy}>{shown}</Button>
    : <IconButton icon={icon} label={shown} onClick={copy} />
}
