import click

from train import fit


@click.command()
@click.option("--steps", default=100, show_default=True, help="Steps of gradient descent.")
def main(steps):
    """Fits a line to noisy points."""
    result = fit(steps)
    slope, intercept = result.weights
    click.echo(f"y = {slope:.2f} x {intercept:+.2f}, loss {result.loss:.4f}, on {result.device}")


if __name__ == "__main__":
    main()
