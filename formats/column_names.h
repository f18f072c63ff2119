/* SPDX-License-Identifier: MIT
 *
 * The names of table columns and JSON members that say where a file is and what its label is. The
 * names are the same in CSV files, JSON Lines files, augmented manifests and the tables of other
 * programs. Their case does not matter. */
#ifndef FORMATS_COLUMN_NAMES_H
#define FORMATS_COLUMN_NAMES_H

enum column_role {
    COLUMN_PATH,                /* path, file, file_name, filename, image */
    COLUMN_LABEL,               /* label, labels */
    /* The column has the keys of samples. Only files that list keys have this column. Its names are
     * key, __key__, path, file, file_name, filename and image. */
    COLUMN_KEY,
    /* The column has the label, or the name of the label's class. The column is called class or
     * class_name. */
    COLUMN_CLASS
};

#define COLUMN_RANK_NONE 100u

/* Returns the rank of a column name among the names that mean `role`. If several columns mean the
 * same role, the column with the lowest rank is used. Returns COLUMN_RANK_NONE if the name does not
 * mean this role. */
unsigned column_rank(enum column_role role, const char *name);

#endif
