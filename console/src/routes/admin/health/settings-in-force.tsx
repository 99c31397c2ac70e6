import type { ServerSetting } from '@reeve/sdk'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { ErrorBox } from '../../../parts/feedback/error-box.tsx'
import { inputClass } from '../../../parts/controls/form.tsx'
import { Skeleton } from '../../../parts/feedback/skeleton.tsx'
import { client } from '../../../session/client.ts'

export function SettingsInForce() {
  const settings = useQuery({ queryKey: ['admin', 'settings'], queryFn: () => client.admin.settings() })
  const [wanted, setWanted] = useState('')
  const [isAll, setAll] = useState(false)
  const text = wanted.trim().toLowerCase()
  const shown = (settings.data ?? []).filter(
    ({ name, about, is_set: isSet }) =>
      (isAll || isSet || text !== '') && `${name} ${about}`.toLowerCase().includes(text),
  )
  return (
    <section aria-labelledby="settings" className="mt-10">
      <h2 id="settings" className="mb-2 text-lead font-semibold">
        Settings in force
      </h2>
      <div className="mb-2 flex flex-wrap items-center gap-4">
        <input
          type="search"
          aria-label="Find a setting"
          placeholder="Find a setting"
          value={wanted}
          onChange={({ currentTarget }) => setWanted(currentTarget.value)}
          className={`${inputClass} max-w-xs`}
        />
        <label className="inline-flex min-h-8 items-center gap-2">
          <input
            type="checkbox"
            className="size-4 accent-(--accent)"
            checked={isAll}
            onChange={({ currentTarget }) => setAll(currentTarget.checked)}
          />
          With defaults
        </label>
      </div>
      {settings.isPending && <Skeleton lines={4} />}
      {settings.isError && (
        <ErrorBox
          title="The settings could not be loaded"
          error={settings.error}
          onRetry={() => void settings.refetch()}
        />
      )}
      {settings.isSuccess && shown.length === 0 && (
        <p className="text-quiet">{text === '' ? 'Every setting has its default.' : 'No setting by that name.'}</p>
      )}
      <dl>
        {shown.map((setting) => (
          <Setting key={setting.name} setting={setting} />
        ))}
      </dl>
    </section>
  )
}

function Setting({ setting: { name, value, is_set: isSet, about } }: { setting: ServerSetting }) {
  return (
    <div className="grid gap-x-6 border-t border-line py-2 lg:grid-cols-[22rem_1fr]">
      <dt className={`font-mono text-[13px] break-words ${isSet ? 'font-semibold' : ''}`}>{name}</dt>
      <dd className="min-w-0">
        <p className="font-mono text-[13px] break-words">
          {value === '' ? <span className="text-quiet">empty</span> : value}
        </p>
        <p className="text-small text-quiet">{about.replaceAll('`', '')}</p>
      </dd>
    </div>
  )
}
