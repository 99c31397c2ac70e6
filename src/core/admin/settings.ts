// /admin/settings: what this process was started with, secrets masked.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { CORE_SETTINGS, type Config } from '../config.ts'
import { requireRole } from '../http/auth/guard.ts'
import { refusals } from '../http/errors/detail.ts'
import { SECURED } from '../http/routes/docs.ts'
import type { Identity } from '../identity/identity.ts'
import { shownSettings, type ShownSetting } from '../settings.ts'

const SettingView = Type.Object({
  name: Type.String(),
  value: Type.String({ description: 'As it is written in the environment; asterisks for a secret.' }),
  is_set: Type.Boolean({ description: 'It differs from the default.' }),
  about: Type.String(),
})
const Listed = Type.Object({ settings: Type.Array(SettingView) })

export interface SettingsDeps {
  identity: Identity
  config: Config
  doorSettings?: readonly ShownSetting[]
}

export const settingsRoute =
  ({ identity, config, doorSettings = [] }: SettingsDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const settings = [...shownSettings(CORE_SETTINGS, config), ...doorSettings].map(onWire)
    const schema = {
      tags: ['admin'],
      security: SECURED,
      summary: 'Settings in force in the process that answers, secrets masked.',
      response: { 200: Listed, ...refusals(401, 403) },
    }
    app.get('/admin/settings', { onRequest: requireRole(identity, 'ADMIN'), schema }, async () => ({ settings }))
  }

const onWire = ({ name, value, isSet, about }: ShownSetting) => ({
  name,
  value: Array.isArray(value) ? value.join(',') : String(value),
  is_set: isSet,
  about,
})
