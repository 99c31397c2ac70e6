import { Link, type ErrorComponentProps } from '@tanstack/react-router'
import { Page } from '../frame/page.tsx'
import { buttonClass } from '../parts/controls/button.tsx'
import { Empty } from '../parts/feedback/empty.tsx'
import { ErrorBox } from '../parts/feedback/error-box.tsx'

export function PageError({ error, reset }: ErrorComponentProps) {
  return (
    <Page title="Something went wrong">
      <ErrorBox title="This page could not be shown" error={error} onRetry={reset} />
    </Page>
  )
}

export function PageNotFound() {
  return (
    <Page title="No such page">
      <Empty
        title="There is nothing at this address"
        action={
          <Link to="/" className={buttonClass()}>
            To the front page
          </Link>
        }
      >
        The link may be old, or what it names may have been deleted.
      </Empty>
    </Page>
  )
}
