import { Link } from '@tanstack/react-router'
import { Page } from '../../frame/page.tsx'
import { DOCUMENTS } from './documents.ts'

export function DocsPage() {
  return (
    <Page title="Documents">
      <ul className="max-w-[72ch] divide-y divide-line">
        {DOCUMENTS.map(({ name, title, about }) => (
          <li key={name}>
            <Link to="/console/docs/$name" params={{ name }} className="block rounded-md px-2 py-3 hover:bg-raised">
              <span className="font-medium text-accent">{title}</span>
              <span className="block text-quiet">{about}</span>
            </Link>
          </li>
        ))}
        <li>
          <a href="/docs" className="block rounded-md px-2 py-3 hover:bg-raised">
            <span className="font-medium text-accent">API reference</span>
            <span className="block text-quiet">Every request, with its schema (OpenAPI).</span>
          </a>
        </li>
      </ul>
    </Page>
  )
}
