/** Leads from the form to the place in the text. */
import type { ConfigPath } from '../../../../server-core/model-config/config-path.ts'
import { select } from './form-actions.ts'

export function showInText(path: ConfigPath): void {
  select(path)
}
