import { Menu } from '@base-ui/react/menu'
import type { Me } from '@reeve/sdk'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { Icon } from '../parts/icon.tsx'
import { signOut } from '../session/session.tsx'
import { ACCOUNT_CLASS, AccountName, roleWord } from './account-button.tsx'
import { storedTheme, storeTheme, THEMES, type Theme } from '../style/theme.ts'

const ITEM = 'flex items-center gap-2 px-3 py-1.5 outline-none data-[highlighted]:bg-accent-soft max-sm:py-2.5'
const THEME_WORDS: Readonly<Record<Theme, string>> = { system: 'As the system', light: 'Light', dark: 'Dark' }

export function AccountMenu({ me }: { me: Me }) {
  return (
    <Menu.Root defaultOpen>
      <Menu.Trigger className={ACCOUNT_CLASS}>
        <AccountName me={me} />
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner sideOffset={6} align="end" className="z-50">
          <Menu.Popup className="w-60 rounded-md border border-line bg-surface py-1 shadow-lg outline-none">
            <div className="px-3 py-2">
              <p className="truncate font-medium" dir="auto">
                {me.username}
              </p>
              <p className="text-small text-quiet">{me.roles.map(roleWord).join(', ')}</p>
            </div>
            <Menu.Separator className="my-1 border-t border-line" />
            <Themes />
            <Menu.Separator className="my-1 border-t border-line" />
            <Menu.Item className={ITEM} render={<Link to="/console/account" />}>
              <Icon name="person" /> Password, keys and logins
            </Menu.Item>
            <Menu.Item className={ITEM} onClick={() => void signOut()}>
              <Icon name="right" /> Sign out
            </Menu.Item>
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  )
}

function Themes() {
  const [theme, setTheme] = useState(storedTheme)
  const choose = (name: string) => {
    const next = THEMES.find((one) => one === name) ?? 'system'
    storeTheme(next)
    setTheme(next)
  }
  return (
    <Menu.RadioGroup value={theme} onValueChange={choose} aria-label="Colours">
      {THEMES.map((name) => (
        <Menu.RadioItem key={name} value={name} className={ITEM} closeOnClick={false}>
          <span className="inline-flex size-4">{theme === name && <Icon name="check" />}</span>
          {THEME_WORDS[name]}
        </Menu.RadioItem>
      ))}
    </Menu.RadioGroup>
  )
}
