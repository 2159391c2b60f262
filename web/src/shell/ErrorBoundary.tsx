import { Component, type ReactNode } from "react";
import { ErrorNotice } from "../ui/ErrorNotice";

/** A mistake of one page must not leave an empty window behind. */
export class ErrorBoundary extends Component<{ children: ReactNode }, { thrown?: unknown }> {
  override state: { thrown?: unknown } = {};

  static getDerivedStateFromError(thrown: unknown) {
    return { thrown };
  }

  override render() {
    if (this.state.thrown === undefined) return this.props.children;
    return <ErrorNotice action="draw this page" error={this.state.thrown} onRetry={() => location.reload()} />;
  }
}
