import { CORE_SETTINGS, environment, parseConfig } from '../../core/config.ts'
import { shownSettings } from '../../core/settings.ts'
import { DOOR_NAMES, doorSettings } from '../../doors/outline.ts'
import { withClient, type ClientOptions } from '../access/client.ts'
import { plain, print, printJson, styled } from '../terminal.ts'

type ConfigOptions = Pick<ClientOptions, 'url' | 'apiKeyFile'> & { json?: boolean }

/** What is in force here, or in the process that answers at --url: secrets masked, what differs from the default marked. */
export async function showConfig(options: ConfigOptions): Promise<void> {
  if (options.url === undefined) return showHere(options)
  const settings = await withClient(options, (reeve) => reeve.admin.settings())
  if (options.json === true) return printJson(Object.fromEntries(settings.map(({ name, value }) => [name, value])))
  for (const { name, value, is_set: isSet, about } of settings) {
    print(styled('gray', `# ${plain(about)}`))
    print(`${isSet ? styled('bold', plain(name)) : plain(name)}=${plain(value)}`)
  }
}

function showHere(options: ConfigOptions): void {
  const { core, doors } = parseConfig(environment(), doorSettings(), DOOR_NAMES)
  const shown = [...shownSettings(CORE_SETTINGS, core), ...shownSettings(doorSettings(), doors)]

  if (options.json === true) return printJson(Object.fromEntries(shown.map(({ name, value }) => [name, value])))
  for (const { name, value, isSet, about } of shown) {
    print(styled('gray', `# ${about}`))
    print(`${isSet ? styled('bold', name) : name}=${Array.isArray(value) ? value.join(',') : String(value)}`)
  }
}
