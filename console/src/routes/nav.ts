// The side bar, in its order. Only what an account may use is listed.
import type { Role } from '@reeve/sdk'
import type { ComponentType } from 'react'
import type { IconName } from '../parts/icon.tsx'
import { adminNav } from './admin/nav.ts'
import { arenaNav } from './arena/nav.ts'
import { challengesNav } from './challenges/nav.ts'
import { deskNav } from './desk/nav.ts'
import { docsNav } from './docs/nav.ts'
import { frontNav } from './front/nav.ts'
import { jobsNav } from './jobs/nav.ts'
import { judgeNav } from './judge/nav.ts'
import { overviewNav } from './overview/nav.ts'
import { poolJobsNav, poolNav } from './pool/nav.ts'

/** What the palette finds. */
export interface Found {
  to: string
  label: string
  icon: IconName
  about: string
}

export interface NavEntry {
  to: string
  label: string
  icon: IconName
  /** Pages that belong to it by more than their address. */
  also?: readonly string[]
  /** The door that must be open. */
  door?: string
  /** One of these is needed. Empty: any account. */
  roles: 'anyone' | readonly Role[]
  /** How many things wait for this person; it draws nothing where none does. */
  Count?: ComponentType
  /** For the palette: what this text names. It may refuse, and then finds nothing. */
  find?: (text: string) => Promise<readonly Found[]>
}

export const NAV: readonly NavEntry[] = [
  frontNav,
  overviewNav,
  jobsNav,
  judgeNav,
  challengesNav,
  poolNav,
  poolJobsNav,
  deskNav,
  arenaNav,
  adminNav,
  docsNav,
]
