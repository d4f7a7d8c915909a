/** Python models to begin with: folders of `assets/model-templates`, made into models by the import of folders. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ModelTemplate } from '../contract/console-api.ts'
import { ServerError } from '../server-error.ts'

const DIRECTORY_NAME = 'model-templates'
/** What the console says about them, by name. */
const FACTS_FILE = 'templates.json'

/**
 * By name. @param assetsDirectory the folder `assets` of this program
 * @throws ServerError NOT_FOUND when they are not installed
 */
export async function listTemplates(assetsDirectory: string): Promise<readonly ModelTemplate[]> {
  const path = join(assetsDirectory, DIRECTORY_NAME, FACTS_FILE)
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    throw new ServerError('NOT_FOUND', `The templates are not installed: there is no '${path}'. Reinstall the program.`, { cause })
  })
  const facts = JSON.parse(text) as Readonly<Record<string, Omit<ModelTemplate, 'name'>>>
  return Object.entries(facts).map(([name, rest]) => ({ name, ...rest }))
}

/** @returns the absolute path of a template's folder @throws ServerError NOT_FOUND that names those there are */
export async function templateDirectory(assetsDirectory: string, name: string): Promise<string> {
  const names = (await listTemplates(assetsDirectory)).map((template) => template.name)
  if (!names.includes(name)) throw new ServerError('NOT_FOUND', `there is no template '${name}': ${names.join(', ')}`)
  return join(assetsDirectory, DIRECTORY_NAME, name)
}
