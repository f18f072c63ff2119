/* SPDX-License-Identifier: MIT
 *
 * The names of columns and members that say where a file is and what its label is.  They are the
 * same in CSV, JSON Lines, augmented manifests and tables of other programs, in upper or lower
 * case. */
#ifndef FORMATS_COLUMN_NAMES_H
#define FORMATS_COLUMN_NAMES_H

enum column_role {
    COLUMN_PATH,                /* path, file, file_name, filename, image */
    COLUMN_LABEL,               /* label, labels */
    COLUMN_KEY,                 /* of a list of keys: key, __key__, or a name of a path */
    COLUMN_CLASS                /* class, class_name: a label, or the name of the label */
};

#define COLUMN_RANK_NONE 100u

/* Returns the rank of a name among the names of a role. If several columns have the same role, the
 * column with the lowest rank is used. Returns COLUMN_RANK_NONE if the name has another role, or
 * none. */
unsigned column_rank(enum column_role role, const char *name);

#endif
