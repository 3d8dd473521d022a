"""Between PyTorch and Lanner. Imported with torch alone: `import lanner` does not come here."""
