import { Component, type ReactNode } from "react";
import { labels } from "../labels";
import { ErrorNotice } from "../ui/ErrorNotice";

/** Shows an error instead of an empty page when a component throws. */
export class ErrorBoundary extends Component<{ children: ReactNode }, { thrown?: unknown }> {
  override state: { thrown?: unknown } = {};

  static getDerivedStateFromError(thrown: unknown) {
    return { thrown };
  }

  override render() {
    if (this.state.thrown === undefined) return this.props.children;
    return (
      <ErrorNotice action={labels.failure.renderAction} error={this.state.thrown} onRetry={() => location.reload()} />
    );
  }
}
