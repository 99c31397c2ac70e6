import { CORE_SETTINGS, environment, parseConfig } from '../../core/config.ts'
import { shownSettings } from '../../core/settings.ts'
import { DOOR_NAMES, doorSettings } from '../../doors/outline.ts'
import { print, printJson, styled } from '../terminal.ts'

/** What is in force, with secrets masked and what differs from the default marked. */
export function showConfig(options: { json?: boolean }): void {
  const { core, doors } = parseConfig(environment(), doorSettings(), DOOR_NAMES)
  const shown = [...shownSettings(CORE_SETTINGS, core), ...shownSettings(doorSettings(), doors)]

  if (options.json === true) return printJson(Object.fromEntries(shown.map(({ name, value }) => [name, value])))
  for (const { name, value, isSet, about } of shown) {
    print(styled('gray', `# ${about}`))
    print(`${isSet ? styled('bold', name) : name}=${Array.isArray(value) ? value.join(',') : String(value)}`)
  }
}
