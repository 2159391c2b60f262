import { Component, type ReactNode } from "react";
import { Trouble } from "../ui/Trouble";

/** A mistake of one page must not leave an empty window behind. */
export class ErrorBoundary extends Component<{ children: ReactNode }, { thrown?: unknown }> {
  override state: { thrown?: unknown } = {};

  static getDerivedStateFromError(thrown: unknown) {
    return { thrown };
  }

  override render() {
    if (this.state.thrown === undefined) return this.props.children;
    return <Trouble doing="draw this page" thrown={this.state.thrown} onRetry={() => location.reload()} />;
  }
}
