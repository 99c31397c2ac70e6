import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Page } from '../../frame/page.tsx'
import { Empty } from '../../parts/feedback/empty.tsx'
import { ErrorBox } from '../../parts/feedback/error-box.tsx'
import { Markdown } from '../../parts/text/markdown.tsx'
import { Skeleton } from '../../parts/feedback/skeleton.tsx'
import { loadDocument, titleOf } from './documents.ts'
import { docRoute } from './routes.ts'

export function DocPage() {
  const { name } = docRoute.useParams()
  const document = useQuery({ queryKey: ['document', name], queryFn: () => loadDocument(name) })
  return (
    <Page title={titleOf(name)} crumbs={[{ label: 'Documents', to: '/console/docs' }]}>
      {document.isPending && <Skeleton lines={12} />}
      {document.isError && (
        <ErrorBox
          title="The document could not be loaded"
          error={document.error}
          onRetry={() => void document.refetch()}
        />
      )}
      {document.data === null && <Empty title="There is no such document" />}
      {typeof document.data === 'string' && (
        <Markdown source={document.data.replace(/^# .*\n/, '')} components={{ a: DocLink, img: Nothing }} />
      )}
    </Page>
  )
}

/** Pictures of the console are for those who read the documents elsewhere. */
const Nothing = () => null

const DOCUMENT = /^(?:\.{1,2}\/)?(?:guides\/)?([a-z-]+)\.md(?:#(.*))?$/

/** A link to another document stays in the console. */
function DocLink({ href = '', children }: { href?: string | undefined; children?: React.ReactNode }) {
  const [, name, hash] = DOCUMENT.exec(href) ?? []
  if (name !== undefined) {
    return (
      <Link to="/console/docs/$name" params={{ name }} {...(hash === undefined ? {} : { hash })}>
        {children}
      </Link>
    )
  }
  return /^(?:https?:|#)/.test(href) ? <a href={href}>{children}</a> : <span>{children}</span>
}
