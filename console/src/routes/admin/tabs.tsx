import { Tabs } from '../../parts/controls/tabs.tsx'

const TABS = [
  { to: '/console/admin', label: 'Accounts' },
  { to: '/console/admin/audit', label: 'Audit trail' },
  { to: '/console/admin/health', label: 'Health' },
] as const

export const AdminTabs = () => <Tabs label="Administration" tabs={TABS} />
