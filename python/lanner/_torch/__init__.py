"""Integration with PyTorch. Imported only together with torch: `import lanner` does not import it."""
