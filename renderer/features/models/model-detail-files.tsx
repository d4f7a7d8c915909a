/** The files of the model, as they lie on disk. */
import { useTranslation } from 'react-i18next'
import type { ModelDetail } from '../../../server-core/contract/console-api.ts'
import { Card } from '../../components/card.tsx'
import { CopyButton } from '../../components/copy-button.tsx'
import { FileIcon } from '../../components/icons.tsx'
import { formatBytes, formatClock, formatDate, UNKNOWN } from '../../lib/format.ts'

export function ModelDetailFiles({ detail }: { readonly detail: ModelDetail }) {
  const { t } = useTranslation('model-detail')
  const { summary } = detail
  const folder = `${summary.repositoryPath}/${summary.name}`
  const files: readonly { readonly path: string; readonly byteSize: number; readonly modifiedAt: number | null; readonly what: 'config' | 'version' | 'sample' }[] = [
    ...(detail.configText === null ? [] : [{ path: 'config.pbtxt', byteSize: new TextEncoder().encode(detail.configText).byteLength, modifiedAt: null, what: 'config' as const }]),
    ...summary.versions.flatMap((version) => version.files.map((file) => ({ ...file, what: 'version' as const }))),
    ...detail.samples.map((sample) => ({ path: sample.path, byteSize: sample.byteSize, modifiedAt: null, what: 'sample' as const })),
  ]
  return (
    <Card title={t('files.title')} note={<span className="npu-mono">{folder}</span>} actions={<CopyButton text={folder} label={t('files.copyFolder')} />} isFlush>
      <div className="npu-scroll-x"><table className="npu-table">
        <thead><tr><th scope="col">{t('files.path')}</th><th scope="col">{t('files.what')}</th><th scope="col" className="npu-right">{t('files.size')}</th><th scope="col" className="npu-right">{t('files.modified')}</th></tr></thead>
        <tbody>{files.map((file) => (
          <tr key={file.path}>
            <td><span className="npu-row npu-mono"><FileIcon />{file.path}</span></td><td className="npu-quiet">{t(`files.${file.what}`)}</td><td className="npu-right">{formatBytes(file.byteSize)}</td>
            <td className="npu-right">{file.modifiedAt === null ? UNKNOWN : `${formatDate(file.modifiedAt)} ${formatClock(file.modifiedAt)}`}</td>
          </tr>
        ))}</tbody>
      </table></div>
    </Card>
  )
}
